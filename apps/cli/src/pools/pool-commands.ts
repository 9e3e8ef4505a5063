import type { Command } from 'commander';
import { deriveKey, PlatformError } from '#common';
import type { StoragePolicy } from '#storage';
import type { CliContext } from '../cli-context.js';

interface CredentialOptions {
  models: string;
  json?: boolean;
  storagePolicy?: boolean;
}

/** What the workers of a pool need to reach their jobs and no others. */
interface PoolCredentials {
  pool: string;
  models: string[];
  queueUrl: string;
  queueKey: string;
  /** A line of the server's ACL file; null: the queue is on PostgreSQL. */
  aclLine: string | null;
  /** What the storage user of these workers may do; null: `SLUICE_STORAGE_URL` is no bucket. */
  storagePolicy: StoragePolicy | null;
}

/** `sluice pools …` */
export function addPoolCommands(program: Command, context: CliContext): void {
  const pools = program.command('pools').description('pools of workers').helpCommand(false);
  pools
    .command('credentials <pool>')
    .description(
      'create the queue user of a pool and print what its workers need: a URL, and keys of these models alone',
    )
    .requiredOption('--models <ids>', 'the models whose jobs the pool may read, separated by commas')
    .option('--storage-policy', 'print the policy of the S3 user of the pool instead; creates nothing')
    .option('--json', 'print one JSON document to stdout')
    .action((pool: string, options: CredentialOptions) => createCredentials(context, pool, options));
}

async function createCredentials(context: CliContext, pool: string, options: CredentialOptions): Promise<void> {
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(pool)) throw invalid('The pool must be a word of a-z, 0-9, ., _ and -.');
  const models = options.models.split(',').map((id) => id.trim());
  if (models.some((id) => !/^[^\s:,]+$/.test(id))) throw invalid('--models must be ids separated by commas.');
  const { workerStoragePolicy } = await import('#storage');
  const storagePolicy = workerStoragePolicy(context.config.storageUrl, models);
  if (options.storagePolicy === true) {
    if (storagePolicy === null) throw invalid('Set SLUICE_STORAGE_URL to the bucket, as api and ops have it.');
    return context.output.json(storagePolicy);
  }
  const { sealKeys, redisUrl, databaseUrl, queueUrl = redisUrl ?? databaseUrl } = context.config;
  const [installationKey] = sealKeys;
  if (installationKey === undefined || sealKeys.some((key) => key.includes(':'))) {
    throw invalid('Set SLUICE_QUEUE_KEY to the key of api and ops: the keys of models are derived from it.');
  }
  if (queueUrl === undefined) {
    throw invalid('Set SLUICE_QUEUE_URL, REDIS_URL or DATABASE_URL to the queue, as api and ops have it.');
  }
  const { keysOfModels } = await import('#queue/roles');
  const queueKey = keysOfModels(sealKeys, models).join(',');
  const role = await createRole(context, { pool, models, queueUrl, installationKey });
  print(context, { pool, models, ...role, queueKey, storagePolicy }, options.json === true);
}

async function createRole(
  context: CliContext,
  {
    pool,
    models,
    queueUrl,
    installationKey,
  }: Record<'pool' | 'queueUrl' | 'installationKey', string> & { models: string[] },
): Promise<Pick<PoolCredentials, 'queueUrl' | 'aclLine'>> {
  const [{ ensurePostgresPoolRole, ensureRedisPoolRole, poolUserName, poolUserRules }, { catalog }] = await Promise.all(
    [import('#queue/roles'), import('#modalities')],
  );
  const { namespace, databaseUrl: adminUrl } = context.config;
  const password = deriveKey(installationKey, `queue user ${poolUserName({ namespace, pool })}`).toString('hex');
  const role = { namespace, pool, password, modelIds: models, modalities: Object.keys(catalog) };
  if (!queueUrl.startsWith('redis')) {
    const { url } = await ensurePostgresPoolRole({ url: queueUrl, adminUrl }, role);
    return { queueUrl: url, aclLine: null };
  }
  const { url, isKept } = await ensureRedisPoolRole(queueUrl, role);
  if (!isKept) context.warn('Redis forgets its users when it restarts: give it an `aclfile`, or run this again then.');
  const rules = poolUserRules(role).filter((rule) => rule !== 'reset');
  return { queueUrl: url, aclLine: `user ${poolUserName(role)} ${rules.join(' ')}` };
}

function print({ output }: CliContext, credentials: PoolCredentials, json: boolean): void {
  if (json) return output.json(credentials);
  output.line(`SLUICE_QUEUE_URL=${credentials.queueUrl}`);
  output.line(`SLUICE_QUEUE_KEY=${credentials.queueKey}`);
}

function invalid(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}
