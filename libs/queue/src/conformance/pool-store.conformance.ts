import { randomBytes } from 'node:crypto';
import { startPostgres } from '#test/postgres';
import { ensurePostgresPoolRole } from '../roles/postgres-pool-role.js';
import type { ConformanceStore } from './fixture.conformance.js';

/** A PostgreSQL whose workers have the role of a pool with the model of the conformance suite. */
export async function startPoolStore(): Promise<ConformanceStore> {
  const server = await startPostgres();
  const users = new Map<string, Promise<URL>>();
  const create = async (namespace: string) => {
    const [pool, password] = [`p${randomBytes(3).toString('hex')}`, randomBytes(16).toString('hex')];
    const role = { namespace, pool, password, modelIds: ['tiny-1.5'], modalities: ['echo'] };
    return new URL((await ensurePostgresPoolRole(server, role)).url);
  };
  return {
    ...server,
    url: server.url,
    workerUser: async (namespace: string) => {
      const creating = users.get(namespace) ?? create(namespace);
      users.set(namespace, creating);
      const { username, password } = await creating;
      return { username, password };
    },
  };
}
