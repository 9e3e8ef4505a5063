import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deriveKey } from '#common';
import type { StoragePolicy } from '#storage';
import type { CliContext } from '../cli-context.js';
import { invalid, type PoolModels } from './pool-list.js';
import { installationKeyOf } from './pool-roles.js';

/** 160 bits in hex: object stores take secrets of 40 characters, and some no longer ones. */
const secretLength = 40;

/** Of one user. */
const files = ['access-key-id', 'secret-access-key', 'policy.json'];

/** The user of a bucket whose keys a pool's workers have. */
export interface StorageUser {
  accessKeyId: string;
  secretAccessKey: string;
}

/**
 * Returns the keys of the storage user of a pool, the same ones each time: they are derived from the key of the
 * installation. Whoever runs the object store creates the user.
 */
export async function storageUserOf(context: CliContext, { pool }: PoolModels): Promise<StorageUser> {
  const { poolUserName } = await import('#queue/pools');
  const accessKeyId = poolUserName({ namespace: context.config.namespace, pool });
  const secret = deriveKey(await installationKeyOf(context), `storage user ${accessKeyId}`).toString('hex');
  return { accessKeyId, secretAccessKey: secret.slice(0, secretLength) };
}

/** Returns what the storage user of a pool may do: read and write the artifacts of its models. */
export async function requireStoragePolicy({ config }: CliContext, { models }: PoolModels): Promise<StoragePolicy> {
  const { workerStoragePolicy } = await import('#storage');
  const policy = workerStoragePolicy(config.storageUrl, models);
  if (policy === null) throw invalid('Set SLUICE_STORAGE_URL to the bucket, as api and ops have it.');
  return policy;
}

/**
 * Writes a folder for each pool, with the keys of its storage user and its policy; deletes the folders of other pools. The
 * group reads them only where the object store runs as another user.
 */
export async function writeStorageUsers(
  context: CliContext,
  { folder, group }: { folder: string; group: boolean },
  pools: readonly PoolModels[],
): Promise<void> {
  const users = await Promise.all(
    pools.map(async (pool) => {
      const [user, policy] = [await storageUserOf(context, pool), await requireStoragePolicy(context, pool)];
      return { name: pool.pool, user, policy };
    }),
  );
  await mkdir(folder, { recursive: true });
  await deleteOthers(folder, new Set(pools.map(({ pool }) => pool)));
  for (const { name, user, policy } of users) {
    const path = join(folder, name);
    await mkdir(path, { recursive: true });
    await chmod(path, group ? 0o750 : 0o700);
    const texts = [user.accessKeyId, user.secretAccessKey, `${JSON.stringify(policy, null, 2)}\n`];
    for (const [index, file] of files.entries()) {
      // Written anew, so that what an earlier run wrote keeps no wider mode.
      await rm(join(path, file), { force: true });
      await writeFile(join(path, file), texts[index] ?? '', { mode: group ? 0o640 : 0o600 });
    }
  }
}

/** Deletes what an earlier run wrote for pools that are gone, and nothing else. */
async function deleteOthers(folder: string, pools: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || pools.has(entry.name)) continue;
    const path = join(folder, entry.name);
    const names = await readdir(path);
    if (names.toSorted().join() === files.toSorted().join()) await rm(path, { recursive: true });
  }
}
