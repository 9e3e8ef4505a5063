import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { SetTogether } from './set-together.js';
import {
  PreviousSecretKeysVariable,
  QueueKeyVariable,
  QueueUrlVariable,
  RedisUrlVariable,
  StorageUrlVariable,
} from './shared.variables.js';
import { TracingConfig } from './tracing.config.js';
import { BooleanVariable, ChoiceVariable, IntegerVariable, TextVariable } from './variable.js';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Variables that every process reads. */
export class BaseConfig extends TracingConfig {
  @ChoiceVariable('LOG_LEVEL', { about: 'Lowest level that is logged.', choices: logLevels, default: 'info' })
  logLevel!: LogLevel;

  @TextVariable('SLUICE_HOME', {
    about: 'Data folder; default: `.sluice` in the user’s home.',
    optional: true,
    expected: 'a path',
  })
  homePath?: string;

  @TextVariable('SLUICE_NAMESPACE', {
    about: 'Prefix of queue keys, channels and schemas, for installations that share a server.',
    default: 'sluice',
    pattern: /^[a-z][a-z0-9_]{0,29}$/,
    expected: 'lower-case letters, digits and _, 30 at most, a letter first',
  })
  namespace!: string;

  @TextVariable('SLUICE_INSTALLATION', {
    about: 'Name of the installation in metrics; default: `SLUICE_NAMESPACE`.',
    optional: true,
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    expected: 'letters, digits, `.`, `_` and `-`, 63 at most',
  })
  explicitInstallation?: string;

  @TextVariable('SLUICE_SITE', {
    about: 'Site code, the suffix of every request id.',
    default: 'SLC',
    pattern: /^[A-Z0-9]{1,8}$/,
    expected: '1 to 8 capital letters or digits',
  })
  site!: string;

  /** Label `installation` of all metrics. */
  get installation(): string {
    return this.explicitInstallation ?? this.namespace;
  }

  /** Absolute path. */
  get home(): string {
    return resolve(this.homePath ?? join(homedir(), '.sluice'));
  }
}

const postgresUrl = /^postgres(ql)?:\/\/.+/;

/** Variables of every process that reads or writes media artifacts; the same for api, worker and ops. */
export class StorageConfig extends BaseConfig {
  @StorageUrlVariable()
  storageUrl?: string;

  @IntegerVariable('SLUICE_STORAGE_LIFETIME_MS', {
    about: 'Lifetime of media inputs and results.',
    default: 86_400_000,
    min: 1_000,
    max: 31_536_000_000,
  })
  storageLifetimeMs!: number;

  @TextVariable('SLUICE_S3_ENDPOINT', {
    about: 'S3 endpoint for `s3:` storage; default: that of the region.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
  })
  s3Endpoint?: string;

  @TextVariable('SLUICE_S3_REGION', {
    about: 'Region of the bucket.',
    default: 'us-east-1',
    pattern: /^[a-z0-9-]{1,64}$/,
    expected: 'lower-case letters, digits and -',
  })
  s3Region!: string;

  @TextVariable('SLUICE_S3_ACCESS_KEY_ID', {
    about: 'Access key for `s3:` storage; default: the machine’s credentials.',
    optional: true,
    secret: true,
  })
  s3AccessKeyId?: string;

  @TextVariable('SLUICE_S3_SECRET_ACCESS_KEY', {
    about: 'Secret of the access key for `s3:` storage.',
    optional: true,
    secret: true,
  })
  s3SecretAccessKey?: string;

  @BooleanVariable('SLUICE_S3_PATH_STYLE', {
    about: 'Bucket in the path, as most self-hosted servers need.',
    default: false,
  })
  s3PathStyle!: boolean;

  /**
   * Options of `createArtifactStore`. Half a key pair is rejected here, because the server would only report it at the
   * first use.
   */
  @SetTogether({ SLUICE_S3_ACCESS_KEY_ID: 's3AccessKeyId', SLUICE_S3_SECRET_ACCESS_KEY: 's3SecretAccessKey' })
  get storage(): {
    home: string;
    url?: string;
    lifetimeMs: number;
    s3: { endpoint?: string; region: string; accessKeyId?: string; secretAccessKey?: string; pathStyle: boolean };
  } {
    return {
      home: this.home,
      url: this.storageUrl,
      lifetimeMs: this.storageLifetimeMs,
      s3: {
        endpoint: this.s3Endpoint,
        region: this.s3Region,
        accessKeyId: this.s3AccessKeyId,
        secretAccessKey: this.s3SecretAccessKey,
        pathStyle: this.s3PathStyle,
      },
    };
  }
}

/** Variables of every process that uses the queue. */
export class QueueConfig extends StorageConfig {
  @QueueUrlVariable()
  explicitQueueUrl?: string;

  @QueueKeyVariable()
  sealKeys!: string[];

  @RedisUrlVariable()
  redisUrl?: string;
}

/** Variables of the processes that use the database. */
export class DatabaseConfig extends QueueConfig {
  @TextVariable('DATABASE_URL', {
    about: 'The PostgreSQL database.',
    pattern: postgresUrl,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  })
  databaseUrl!: string;

  @TextVariable('SLUICE_SECRET_KEY', {
    about: 'Encrypts payloads of open jobs; the same for api and ops.',
    pattern: /^[0-9a-f]{64}$/i,
    expected: '64 hex digits (32 bytes), as `openssl rand -hex 32` prints them',
    secret: true,
  })
  secretKey!: string;

  @PreviousSecretKeysVariable()
  previousSecretKeys!: string[];

  @BooleanVariable('SLUICE_FAIR_QUEUE', {
    about: 'Whether accounts take turns, instead of jobs in order of arrival; the same for api and ops.',
    default: true,
  })
  fairQueue!: boolean;

  /** The first seals and signs, all open. */
  get secretKeys(): readonly [string, ...string[]] {
    return [this.secretKey, ...this.previousSecretKeys];
  }

  get queueUrl(): string {
    return this.explicitQueueUrl ?? this.redisUrl ?? this.databaseUrl;
  }

  /** Redis with the rate-limit windows; null: they are in the database. */
  get limitsRedisUrl(): string | null {
    const queueInRedis = this.explicitQueueUrl?.startsWith('redis') === true;
    return this.redisUrl ?? (queueInRedis ? (this.explicitQueueUrl ?? null) : null);
  }
}
