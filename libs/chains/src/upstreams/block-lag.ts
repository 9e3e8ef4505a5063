import type { RpcNetwork } from '../networks.js';

/** A node lags behind if it lacks more blocks, and more time, than this. */
const maxLagBlocks = 3;
const maxLagMs = 30_000;

/** Whether a node lags behind the best one; false if its height is not known. */
export function isLagging({ blockMs }: Pick<RpcNetwork, 'blockMs'>, height: bigint | null, best: bigint): boolean {
  if (height === null) return false;
  const blocks = Number(best - height);
  return blocks > maxLagBlocks && blocks * blockMs > maxLagMs;
}
