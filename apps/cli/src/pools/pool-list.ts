import { PlatformError } from '#common';

/** A pool whose workers have credentials of their own, and the models whose jobs they may read. */
export interface PoolModels {
  pool: string;
  models: readonly string[];
}

/** Reads `SLUICE_POOLS`, whose form the configuration has checked: `text=a,b;image=c`. */
export function readPools(text: string | undefined): PoolModels[] {
  const pools = (text ?? '').split(';').filter(Boolean).map(readPool);
  const twice = pools.find(({ pool }, index) => pools.findIndex((other) => other.pool === pool) !== index);
  if (twice !== undefined) throw invalid(`SLUICE_POOLS names the pool ${twice.pool} twice.`);
  return pools;
}

export function invalid(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}

function readPool(text: string): PoolModels {
  const [pool = '', models = ''] = text.split('=');
  return { pool: pool.trim(), models: models.split(',').map((id) => id.trim()) };
}
