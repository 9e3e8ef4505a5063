import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '#test/postgres';
import { startRedis } from '#test/redis';
import type { PoolRole } from '../trust/pools/pool-role.js';
import { ensurePostgresPoolRole } from '../trust/pools/postgres-pool-role.js';
import { ensureRedisPoolRole } from '../trust/pools/redis-pool-role.js';
import type { ConformanceStore } from './fixture.conformance.js';

/** A PostgreSQL whose workers have the role of a pool with the model of the conformance suite. */
export async function startPoolStore(): Promise<ConformanceStore> {
  const server = await startPostgres();
  return { ...server, url: server.url, workerUser: poolUsers((role) => ensurePostgresPoolRole(server, role)) };
}

/** A Redis whose workers have the user of a pool; it keeps the users over a restart. */
export async function startRedisPoolStore(): Promise<ConformanceStore> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-users-'));
  const users = join(folder, 'users.acl');
  await writeFile(users, '');
  const server = await startRedis(['--appendonly', 'yes', '--aclfile', users]);
  return {
    ...server,
    url: server.url,
    workerUser: poolUsers((role) => ensureRedisPoolRole(server.url, role)),
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One user for each namespace. */
function poolUsers(ensure: (role: PoolRole) => Promise<{ url: string }>) {
  const users = new Map<string, Promise<URL>>();
  const create = async (namespace: string) => {
    const [pool, password] = [`p${randomBytes(3).toString('hex')}`, randomBytes(16).toString('hex')];
    return new URL((await ensure({ namespace, pool, password, modelIds: ['tiny-1.5'], modalities: ['echo'] })).url);
  };
  return async (namespace: string) => {
    const creating = users.get(namespace) ?? create(namespace);
    users.set(namespace, creating);
    const { username, password } = await creating;
    return { username, password };
  };
}
