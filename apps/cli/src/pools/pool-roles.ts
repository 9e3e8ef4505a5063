import { deriveKey } from '#common';
import type { CliContext } from '../cli-context.js';
import { invalid, type PoolModels } from './pool-list.js';

/** The user of the queue whose name a pool's workers connect with. */
export interface QueueUser {
  name: string;
  url: string;
  /** A line of the server's ACL file; null: the queue is on PostgreSQL. */
  aclLine: string | null;
}

/** What the users of pools are made from. */
interface PoolSecrets {
  queueUrl: string;
  installationKey: string;
}

/** Returns the value of `SLUICE_QUEUE_KEY` for workers of these models alone. */
export async function queueKeyOf(context: CliContext, { models }: PoolModels): Promise<string> {
  await requireSecrets(context);
  const { poolKeys } = await import('#queue/pools');
  return poolKeys(await context.sealKeys(), models).join(',');
}

/**
 * Creates or replaces the queue user of a pool, the same one each time: its password is derived from the key of the
 * installation. With `isDescribed` it is returned and not created.
 */
export async function ensureQueueUser(
  context: CliContext,
  pool: PoolModels,
  { isDescribed = false } = {},
): Promise<QueueUser> {
  const { queueUrl, installationKey } = await requireSecrets(context);
  const [roles, { catalog }] = await Promise.all([import('#queue/pools'), import('#modalities')]);
  const { namespace } = context.config;
  const name = roles.poolUserName({ namespace, pool: pool.pool });
  const password = deriveKey(installationKey, `queue user ${name}`).toString('hex');
  const role = { namespace, pool: pool.pool, password, modelIds: pool.models, modalities: Object.keys(catalog) };
  if (!queueUrl.startsWith('redis')) {
    const { url } = isDescribed
      ? roles.describePostgresPoolRole(queueUrl, role)
      : await roles.ensurePostgresPoolRole({ url: queueUrl, adminUrl: await context.databaseUrl() }, role);
    return { name: new URL(url).username, url, aclLine: null };
  }
  const rules = roles.poolUserRules(role).filter((rule) => rule !== 'reset');
  const user = { name, url: roles.poolUserUrl(queueUrl, role), aclLine: `user ${name} ${rules.join(' ')}` };
  if (isDescribed) return user;
  const { isKept } = await roles.ensureRedisPoolRole(queueUrl, role);
  if (!isKept) {
    context.warn(`Redis forgets the user ${name} when it restarts: give it an \`aclfile\`, or run this again then.`);
  }
  return user;
}

/** Returns the key that everything of a pool is derived from. */
export async function installationKeyOf(context: CliContext): Promise<string> {
  const sealKeys = await context.sealKeys();
  const [installationKey] = sealKeys;
  if (installationKey === undefined || sealKeys.some((key) => key.includes(':'))) {
    throw invalid('Set SLUICE_QUEUE_KEY to the key of api and ops: the keys of models are derived from it.');
  }
  return installationKey;
}

async function requireSecrets(context: CliContext): Promise<PoolSecrets> {
  const installationKey = await installationKeyOf(context);
  const queueUrl = await context.queueUrl();
  if (queueUrl === undefined) {
    throw invalid('Set SLUICE_QUEUE_URL, REDIS_URL or DATABASE_URL to the queue, as api and ops have it.');
  }
  return { queueUrl, installationKey };
}
