import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { ChoiceVariable, TextVariable } from './variable.js';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** What every process reads. */
export class BaseConfig {
  @ChoiceVariable('LOG_LEVEL', { about: 'Least severe level that is logged.', choices: logLevels, default: 'info' })
  logLevel!: LogLevel;

  @TextVariable('SLUICE_HOME', {
    about: 'Folder of everything this installation keeps; default: `.sluice` in the home of the user.',
    optional: true,
    expected: 'a path',
  })
  homePath?: string;

  @TextVariable('SLUICE_NAMESPACE', {
    about: 'Prefix of queue keys, channels and schemas, so that two installations can share a server.',
    default: 'sluice',
    pattern: /^[a-z][a-z0-9_]{0,29}$/,
    expected: 'lower-case letters, digits and _, 30 at most, a letter first',
  })
  namespace!: string;

  @TextVariable('SLUICE_SITE', {
    about: 'Code of this site, the end of every request id.',
    default: 'SLC',
    pattern: /^[A-Z0-9]{1,8}$/,
    expected: '1 to 8 capital letters or digits',
  })
  site!: string;

  /** Absolute. */
  get home(): string {
    return resolve(this.homePath ?? join(homedir(), '.sluice'));
  }
}

const postgresUrl = /^postgres(ql)?:\/\/.+/;
const redisUrl = /^rediss?:\/\/.+/;
const queueUrl = /^(postgres(ql)?|rediss?):\/\/.+/;

/** What every process that touches the queue reads. */
export class QueueConfig extends BaseConfig {
  @TextVariable('SLUICE_QUEUE_URL', {
    about: 'Where the queue lives; default: `REDIS_URL`, else (not for workers) `DATABASE_URL`.',
    optional: true,
    pattern: queueUrl,
    expected: 'a URL such as redis://host:6379 or postgresql://user:password@host:5432/database',
    secret: true,
  })
  explicitQueueUrl?: string;

  @TextVariable('REDIS_URL', {
    about: 'Redis server for the queue and the bus.',
    optional: true,
    pattern: redisUrl,
    expected: 'a URL such as redis://host:6379 or rediss://user:password@host:6380/0',
    secret: true,
  })
  redisUrl?: string;
}

/** What the processes beside the database read. */
export class DatabaseConfig extends QueueConfig {
  @TextVariable('DATABASE_URL', {
    about: 'PostgreSQL server that holds the truth.',
    pattern: postgresUrl,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  })
  databaseUrl!: string;

  @TextVariable('SLUICE_SECRET_KEY', {
    about: 'Encrypts the payloads of open jobs in the database; the same for api and ops.',
    pattern: /^[0-9a-f]{64}$/i,
    expected: '64 hex digits (32 bytes), as `openssl rand -hex 32` prints them',
    secret: true,
  })
  secretKey!: string;

  get queueUrl(): string {
    return this.explicitQueueUrl ?? this.redisUrl ?? this.databaseUrl;
  }
}
