import type { Command } from 'commander';
import type { StoragePolicy } from '#storage';
import type { CliContext } from '../cli-context.js';
import { invalid, type PoolModels, readPools } from './pool-list.js';
import { ensureQueueUser, queueKeyOf } from './pool-roles.js';
import { requireStoragePolicy, type StorageUser, storageUserOf, writeStorageUsers } from './storage-users.js';

interface CredentialOptions {
  models?: string;
  address?: string;
  /** False with `--no-create`. */
  create: boolean;
  json?: boolean;
  storagePolicy?: boolean;
  storageUser?: boolean;
}

interface WriteOptions {
  group: boolean;
  json?: boolean;
}

/** What the workers of a pool need to reach their jobs and no others. */
interface PoolCredentials {
  pool: string;
  models: readonly string[];
  queueUrl: string;
  queueKey: string;
  /** As in `QueueUser`. */
  aclLine: string | null;
  /** What the storage user of these workers may do; null: `SLUICE_STORAGE_URL` is no bucket. */
  storagePolicy: StoragePolicy | null;
  /** Keys that the object stores of Docker Compose and of the trial cluster give this user; null: there is no bucket. */
  storageUser: StorageUser | null;
}

/** `sluice pools …` */
export function addPoolCommands(program: Command, context: CliContext): void {
  const pools = program.command('pools').description('pools of workers').helpCommand(false);
  pools
    .command('credentials <pool>')
    .description(
      'create the queue user of a pool and print what its workers need: a URL, and keys of these models alone',
    )
    .option('--models <ids>', 'the models whose jobs the pool may read, separated by commas; default: SLUICE_POOLS')
    .option('--address <host:port>', 'where these workers reach the queue, if not where it is reached from here')
    .option('--no-create', 'print only, with no connection: `sluice migrate` creates the users of SLUICE_POOLS')
    .option('--storage-policy', 'print the policy of the S3 user of the pool instead; creates nothing')
    .option('--storage-user', 'print the keys of this user instead, as `storage-users` writes them; creates nothing')
    .option('--json', 'print one JSON document to stdout')
    .action((pool: string, options: CredentialOptions) => createCredentials(context, pool, options));
  pools
    .command('storage-users <folder>')
    .description(
      'write the keys and the policy of the S3 user of each pool in SLUICE_POOLS to a folder, for the object store to create',
    )
    .option('--group', 'let the group of the files read them, for an object store that runs as another user', false)
    .option('--json', 'print one JSON document to stdout')
    .action((folder: string, options: WriteOptions) => writeUsers(context, folder, options));
  pools
    .command('kubernetes-secrets')
    .description(
      'print the Secrets of a Kubernetes installation for DATABASE_URL, REDIS_URL, SLUICE_QUEUE_KEY and SLUICE_POOLS',
    )
    .option('--kubernetes-namespace <name>', 'namespace of the Secrets', 'sluice')
    .option('--json', 'print one JSON document to stdout, which is the only form')
    .action(async ({ kubernetesNamespace }: { kubernetesNamespace: string }) =>
      (await import('./kubernetes-secrets.js')).printKubernetesSecrets(context, kubernetesNamespace),
    );
}

async function createCredentials(context: CliContext, name: string, options: CredentialOptions): Promise<void> {
  const pool = findPool(context, name, options.models);
  if (options.storagePolicy === true) return context.output.json(await requireStoragePolicy(context, pool));
  if (options.storageUser === true) return printStorageUser(context, pool, options.json === true);
  const hasBucket = context.config.storageUrl?.startsWith('s3:') === true;
  const storagePolicy = hasBucket ? await requireStoragePolicy(context, pool) : null;
  const storageUser = hasBucket ? await storageUserOf(context, pool) : null;
  const queueKey = await queueKeyOf(context, pool);
  const { url, aclLine } = await ensureQueueUser(context, pool, { isDescribed: !options.create });
  const queueUrl = withAddress(url, options.address);
  print(context, { ...pool, queueUrl, aclLine, queueKey, storagePolicy, storageUser }, options.json === true);
}

async function printStorageUser(context: CliContext, pool: PoolModels, json: boolean): Promise<void> {
  const { output } = context;
  const user = await storageUserOf(context, pool);
  if (json) return output.json(user);
  output.line(`SLUICE_S3_ACCESS_KEY_ID=${user.accessKeyId}`);
  output.line(`SLUICE_S3_SECRET_ACCESS_KEY=${user.secretAccessKey}`);
}

async function writeUsers(context: CliContext, folder: string, { group, json }: WriteOptions): Promise<void> {
  const pools = readPools(context.config.pools);
  await writeStorageUsers(context, { folder, group }, pools);
  if (json === true) return context.output.json(pools);
  for (const { pool, models } of pools) context.output.line(`${pool}: artifacts of ${models.join(', ')}`);
  if (pools.length === 0) context.output.line('SLUICE_POOLS names no pool.');
}

function withAddress(queueUrl: string, address: string | undefined): string {
  if (address === undefined) return queueUrl;
  if (!/^[A-Za-z0-9.-]+:\d+$/.test(address)) throw invalid('--address must be a host and a port, as 10.0.0.1:5433.');
  return Object.assign(new URL(queueUrl), { host: address }).href;
}

function findPool({ config }: CliContext, pool: string, ids: string | undefined): PoolModels {
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(pool)) throw invalid('The pool must be a word of a-z, 0-9, ., _ and -.');
  const configured = readPools(config.pools).find((candidate) => candidate.pool === pool);
  const models = ids?.split(',').map((id) => id.trim()) ?? configured?.models;
  if (models === undefined)
    throw invalid(`Name the models of the pool: with --models, or as ${pool}=… in SLUICE_POOLS.`);
  if (models.some((id) => !/^[^\s:,]+$/.test(id))) throw invalid('--models must be ids separated by commas.');
  return { pool, models };
}

function print({ output }: CliContext, credentials: PoolCredentials, json: boolean): void {
  if (json) return output.json(credentials);
  output.line(`SLUICE_QUEUE_URL=${credentials.queueUrl}`);
  output.line(`SLUICE_QUEUE_KEY=${credentials.queueKey}`);
}
