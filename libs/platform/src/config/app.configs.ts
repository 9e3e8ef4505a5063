import {
  Matches,
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { BaseConfig, DatabaseConfig, FfmpegVariable, QueueConfig } from './base.config.js';
import { type MemoryBudgetSetting, parseMemoryBudget } from './memory-budget.js';
import { LimitsConfig } from './limits.config.js';
import { BooleanVariable, IntegerVariable, ListVariable, TextVariable } from './variable.js';

const providerPreference = {
  about: 'Execution providers in order of preference: `cuda`, `webgpu`, `cpu`.',
  default: 'cuda,cpu',
} as const;

const anyPort = { min: 0, max: 65_535 } as const;
const oneDayMs = 86_400_000;

/** One without the other would let nobody in, and say nothing. */
@ValidatorConstraint({ name: 'stakesAreWhole' })
class StakesAreWhole implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    const { stakeRpcUrl, stakeContractAddress } = object as ApiConfig;
    return (stakeRpcUrl === undefined) === (stakeContractAddress === undefined);
  }

  defaultMessage(): string {
    return 'SLUICE_STAKE_RPC_URL and SLUICE_STAKE_CONTRACT are set together or not at all.';
  }
}

export class ApiConfig extends LimitsConfig {
  @TextVariable('HOST', {
    about: 'Address the api listens on.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  host!: string;

  @IntegerVariable('PORT', { about: 'Port the api listens on; 0 takes a free one.', default: 3000, ...anyPort })
  port!: number;

  @IntegerVariable('SLUICE_QUEUE_LIMIT', {
    about: 'Jobs that may wait per model; one more is answered with 503.',
    default: 1_000,
    min: 1,
    max: 1_000_000,
  })
  queueLimit!: number;

  @IntegerVariable('SLUICE_AFFINITY_MS', {
    about:
      'How long a chat is kept for the worker that had others with the same beginning, in ms, before whoever is free takes it; 0: never.',
    default: 0,
    min: 0,
    max: 1_000,
  })
  affinityMs!: number;

  @IntegerVariable('SLUICE_CHAT_DEADLINE_MS', {
    about: 'How long a chat may take from admission to its last token, in ms; then it is answered with 504.',
    default: 600_000,
    min: 100,
    max: 86_400_000,
  })
  chatDeadlineMs!: number;

  @IntegerVariable('SLUICE_MEDIA_DEADLINE_MS', {
    about:
      'How long an async job of audio or video may take from its admission to its result, in ms; then it has failed and costs nothing.',
    default: 7_200_000,
    min: 1_000,
    max: 43_200_000,
  })
  mediaDeadlineMs!: number;

  @IntegerVariable('SLUICE_KEEP_ALIVE_MS', {
    about: 'Silence after which a stream gets a comment, in ms.',
    default: 5_000,
    min: 50,
    max: 300_000,
  })
  keepAliveMs!: number;

  @IntegerVariable('SLUICE_STALLED_MS', {
    about: 'How long the reader of a stream may take nothing before it is cut off and its job cancelled, in ms.',
    default: 60_000,
    min: 100,
    max: 3_600_000,
  })
  stalledMs!: number;

  @ListVariable('SLUICE_CORS_ORIGINS', {
    about: 'Origins whose scripts may call the api; none by default.',
    default: '',
  })
  corsOrigins!: string[];

  @TextVariable('SLUICE_REGION_HEADER', {
    about:
      'Header in which a proxy names the caller’s country in two letters, for `regionRestrictions` of models; ' +
      'default: none, and no region is refused.',
    optional: true,
    pattern: /^[A-Za-z0-9-]{1,64}$/,
    expected: 'the name of a header: letters, digits and -',
  })
  regionHeader?: string;

  @BooleanVariable('SLUICE_BETA_MODELS', {
    about: 'Whether callers may use models in closed beta (`betaModel`); `npm start` sets it to true.',
    default: false,
  })
  betaModels!: boolean;

  @FfmpegVariable()
  ffmpeg!: string;

  @ListVariable('SLUICE_EGRESS_NETWORKS', {
    about:
      'Networks that URLs of callers may lead to although they are not public, such as `10.1.0.0/16`; none by default.',
    default: '',
  })
  egressNetworks!: string[];

  @TextVariable('SLUICE_PUBLIC_URL', {
    about: 'How callers reach the api, for download links; default: the host of the request.',
    optional: true,
    pattern: /^https?:\/\/[^/?#]+$/,
    expected: 'an http or https origin such as https://api.example.org',
  })
  publicUrl?: string;

  @TextVariable('SLUICE_STAKE_RPC_URL', {
    about:
      'JSON-RPC endpoint of the chain on which wallets stake, for keys that wallets mint; default: no chain is asked.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
    secret: true,
  })
  stakeRpcUrl?: string;

  @TextVariable('SLUICE_STAKE_CONTRACT', {
    about: 'Contract on that chain whose `balanceOf(address)` is what a wallet has staked.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}$/,
    expected: '0x and 40 hex digits',
  })
  stakeContractAddress?: string;

  @TextVariable('SLUICE_STAKE_ALLOW_LIST', {
    about: 'Wallets that may mint keys as if they had a stake, separated by commas.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*$/,
    expected: 'addresses (0x and 40 hex digits) separated by commas',
  })
  stakeAllowListText?: string;

  @IntegerVariable('SLUICE_SHUTDOWN_GRACE_MS', {
    about: 'How long open answers may go on after a stop signal, in ms.',
    default: 25_000,
    min: 0,
    max: 3_600_000,
  })
  shutdownGraceMs!: number;

  /** Where stakes are looked up; null: nowhere. */
  @Validate(StakesAreWhole)
  get stakeContract(): { rpcUrl: string; contract: string } | null {
    const { stakeRpcUrl: rpcUrl, stakeContractAddress: contract } = this;
    return rpcUrl === undefined || contract === undefined ? null : { rpcUrl, contract };
  }

  get stakeAllowList(): string[] {
    return this.stakeAllowListText?.split(',').map((address) => address.trim()) ?? [];
  }
}

/** A worker holds no database password: only a Redis URL or the restricted role of a Postgres queue reaches it. */
@ValidatorConstraint({ name: 'queueUrlIsSet' })
class QueueUrlIsSet implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    const config = object as QueueConfig;
    return Boolean(config.explicitQueueUrl ?? config.redisUrl);
  }

  defaultMessage(): string {
    return 'SLUICE_QUEUE_URL or REDIS_URL is not set; expected a URL such as redis://host:6379. Workers hold no DATABASE_URL.';
  }
}

export class WorkerConfig extends QueueConfig {
  @ListVariable('SLUICE_MODELS', {
    about:
      'Models to serve beside those placed in its pools: ids, names of sets, `all` for everything installed, or `none`; ' +
      'default: `starter`, and `none` where SLUICE_POOL is set.',
    optional: true,
  })
  explicitModels?: string[];

  @ListVariable('SLUICE_POOL', {
    about: 'Pools of this worker: it also serves what `sluice models place` puts into one of them; none by default.',
    default: '',
    expected: 'words of a-z, 0-9, ., _ and - separated by commas',
  })
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/, { each: true })
  pools!: string[];

  @TextVariable('SLUICE_MEMORY_BUDGET', {
    about:
      'Memory that all models of this worker together may take, by device, such as `cpu=6GiB,cuda=50%`; default: 90% of ' +
      'what the machine, its cgroup, the GPU or its slice has.',
    optional: true,
    pattern: /^(cpu|cuda)=\d{1,7}(\.\d{1,3})?(MiB|GiB|%)(\s*,\s*(cpu|cuda)=\d{1,7}(\.\d{1,3})?(MiB|GiB|%))*$/,
    expected: '`cpu=` or `cuda=` and a number of MiB, GiB or %, separated by commas',
  })
  memoryBudgetText?: string;

  @IntegerVariable('SLUICE_MIN_RESIDENCY_MS', {
    about: 'How long a loaded model stays at least before it makes room for another, in ms.',
    default: 60_000,
    min: 0,
    max: oneDayMs,
  })
  minResidencyMs!: number;

  @TextVariable('SLUICE_WORKER_HOST', {
    about: 'Address of the worker’s health and metrics server.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  host!: string;

  @IntegerVariable('SLUICE_WORKER_PORT', {
    about: 'Port of the worker’s health and metrics server; 0 takes a free one.',
    default: 3001,
    ...anyPort,
  })
  port!: number;

  @IntegerVariable('SLUICE_DRAIN_MS', {
    about: 'How long running jobs may go on after a stop signal, in ms.',
    default: 25_000,
    min: 0,
    max: 3_600_000,
  })
  drainMs!: number;

  @IntegerVariable('SLUICE_PICKUP_TIMEOUT_MS', {
    about:
      'How long jobs may wait while the worker has room for them and takes none, in ms; then it opens its connections ' +
      'to the queue anew, and if that does not help twice, its /health/live fails.',
    default: 30_000,
    min: 500,
    max: 3_600_000,
  })
  pickupTimeoutMs!: number;

  @IntegerVariable('SLUICE_THREADS', {
    about: 'Threads of one model; default: chosen by the number of cores.',
    optional: true,
    min: 1,
    max: 1_024,
  })
  threads?: number;

  @IntegerVariable('SLUICE_SLOTS', {
    about: 'Sequences every model runs at once; default: what its manifest says.',
    optional: true,
    min: 1,
    max: 1_024,
  })
  slots?: number;

  @FfmpegVariable()
  ffmpeg!: string;

  @ListVariable('SLUICE_PROVIDERS', providerPreference)
  providers!: string[];

  get models(): string[] {
    return this.explicitModels ?? (this.pools.length > 0 ? [] : ['starter']);
  }

  get memoryBudget(): MemoryBudgetSetting[] {
    return parseMemoryBudget(this.memoryBudgetText ?? '');
  }

  /** Where the queue lives; checked at load. */
  @Validate(QueueUrlIsSet)
  get queueUrl(): string {
    return this.explicitQueueUrl ?? this.redisUrl ?? '';
  }
}

export class OpsConfig extends DatabaseConfig {
  @TextVariable('SLUICE_OPS_HOST', {
    about: 'Address of the health and metrics server of ops.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  host!: string;

  @IntegerVariable('SLUICE_OPS_PORT', {
    about: 'Port of the health and metrics server of ops; 0 takes a free one.',
    default: 3002,
    ...anyPort,
  })
  port!: number;

  @IntegerVariable('SLUICE_SWEEP_INTERVAL_MS', {
    about: 'Pause between two searches for lost and overdue jobs, in ms.',
    default: 3_000,
    min: 50,
    max: oneDayMs,
  })
  sweepIntervalMs!: number;

  @IntegerVariable('SLUICE_LOST_AFTER_MS', {
    about: 'Age at which a queued job is looked up in the queue, and re-enqueued when it is not there, in ms.',
    default: 15_000,
    min: 100,
    max: oneDayMs,
  })
  lostAfterMs!: number;

  @IntegerVariable('SLUICE_LEDGER_VERIFY_MS', {
    about:
      'Pause between two proofs of the whole ledger, for the metrics, in ms; 0: none. A proof reads every entry once.',
    default: 900_000,
    min: 0,
    max: oneDayMs,
  })
  ledgerVerifyMs!: number;
}

export class CliConfig extends BaseConfig {
  @TextVariable('DATABASE_URL', {
    about: 'PostgreSQL server that holds the truth; default: the one `npm start` runs for this home.',
    optional: true,
    pattern: /^postgres(ql)?:\/\/.+/,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  })
  databaseUrl?: string;

  @TextVariable('HF_ENDPOINT', {
    about: 'Server that speaks the API of the model hub, for `hf:` sources.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
  })
  hubEndpoint?: string;

  @TextVariable('HF_TOKEN', { about: 'Token for `hf:` sources that ask for one.', optional: true, secret: true })
  hubToken?: string;

  @ListVariable('SLUICE_PROVIDERS', providerPreference)
  providers!: string[];
}

const bootstrapKey = {
  optional: true,
  pattern: /^slk_[A-Za-z0-9_-]{20,200}$/,
  expected: '`slk_` and 20 to 200 letters, digits, - or _',
  secret: true,
} as const;

/** `npm start`: the other processes get their environment from it. */
export class LocalConfig extends CliConfig {
  @TextVariable('HOST', {
    about: 'Address the api listens on.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  host!: string;

  @IntegerVariable('PORT', { about: 'Port the api listens on; 0 takes a free one.', default: 3000, ...anyPort })
  port!: number;

  @TextVariable('SLUICE_QUEUE_URL', {
    about: 'Where the queue lives; default: `REDIS_URL`, else a role of its own in the database.',
    optional: true,
    pattern: /^(postgres(ql)?|rediss?):\/\/.+/,
    expected: 'a URL such as redis://host:6379 or postgresql://user:password@host:5432/database',
    secret: true,
  })
  queueUrl?: string;

  @TextVariable('REDIS_URL', {
    about: 'Redis server for the queue, the bus and the windows of rate limits.',
    optional: true,
    pattern: /^rediss?:\/\/.+/,
    expected: 'a URL such as redis://host:6379 or rediss://user:password@host:6380/0',
    secret: true,
  })
  redisUrl?: string;

  @TextVariable('SLUICE_SECRET_KEY', {
    about: 'Encrypts the payloads of open jobs in the database; default: generated into `secret.key` in the home.',
    optional: true,
    pattern: /^[0-9a-f]{64}$/i,
    expected: '64 hex digits (32 bytes), as `openssl rand -hex 32` prints them',
    secret: true,
  })
  secretKey?: string;

  @ListVariable('SLUICE_MODELS', {
    about:
      'Models to pull and serve: ids, names of sets, or `none`; `all` serves everything installed and pulls nothing.',
    default: 'starter',
  })
  models!: string[];

  @TextVariable('SLUICE_BOOTSTRAP_CREDIT_USD', {
    about: 'Promotional credit of the first account, given once; default: 100, and 0 where NODE_ENV is `production`.',
    optional: true,
    pattern: /^\d{1,9}(\.\d{1,9})?$/,
    expected: 'an amount of USD such as 100 or 0.5; 0 gives none',
  })
  bootstrapCreditUsd?: string;

  @TextVariable('NODE_ENV', {
    about: 'With `production` nobody gets credit without an operator.',
    optional: true,
  })
  nodeEnv?: string;

  /** What the first account gets, in USD. */
  get firstCreditUsd(): string {
    return this.bootstrapCreditUsd ?? (this.nodeEnv === 'production' ? '0' : '100');
  }

  @TextVariable('SLUICE_BOOTSTRAP_ADMIN_KEY', {
    about: 'Admin key of the first account instead of a random one.',
    ...bootstrapKey,
  })
  bootstrapAdminKey?: string;

  @TextVariable('SLUICE_BOOTSTRAP_INFERENCE_KEY', {
    about: 'Inference key of the first account instead of a random one.',
    ...bootstrapKey,
  })
  bootstrapInferenceKey?: string;
}
