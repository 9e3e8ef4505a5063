import { deriveKey } from '#common';
import type { CliContext } from '../cli-context.js';
import { invalid, readPools } from './pool-list.js';
import { ensureQueueUser, installationKeyOf, queueKeyOf } from './pool-roles.js';
import { storageUserOf } from './storage-users.js';

/** A Secret as `kubectl apply` takes it. */
interface SecretManifest {
  apiVersion: 'v1';
  kind: 'Secret';
  metadata: { name: string; namespace: string };
  stringData: Record<string, string>;
}

/**
 * Prints the Secrets that `k8s/overlays/production` needs, apart from the keys that an object store gave to api and ops.
 * The same variables give the same Secrets, since everything else is derived from `SLUICE_QUEUE_KEY`.
 */
export async function printKubernetesSecrets(context: CliContext, namespace: string): Promise<void> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw invalid('--kubernetes-namespace must be a name of a-z, 0-9 and -.');
  }
  const { config, output } = context;
  const installationKey = await installationKeyOf(context);
  const { databaseUrl, redisUrl } = config;
  if (databaseUrl === undefined || redisUrl === undefined) {
    throw invalid('Set DATABASE_URL and REDIS_URL to the stores, as api and ops reach them.');
  }
  const secret = (name: string, stringData: Record<string, string>): SecretManifest => {
    return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData };
  };
  const items = [
    secret('sluice-database', { url: databaseUrl }),
    secret('sluice-payloads', { key: deriveKey(installationKey, 'payloads of open jobs').toString('hex') }),
    secret('sluice-queue', { url: redisUrl, key: installationKey }),
  ];
  for (const pool of readPools(config.pools)) {
    const { url } = await ensureQueueUser(context, pool, { isDescribed: true });
    items.push(secret(`sluice-queue-${pool.pool}`, { url, key: await queueKeyOf(context, pool) }));
    const user = await storageUserOf(context, pool);
    const keys = { 'access-key-id': user.accessKeyId, 'secret-access-key': user.secretAccessKey };
    items.push(secret(`sluice-artifacts-${pool.pool}`, keys));
  }
  context.note('Not printed: sluice-artifacts, whose keys come from your object store.');
  output.json({ apiVersion: 'v1', kind: 'List', items });
}
