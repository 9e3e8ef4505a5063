import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import prettier from 'prettier';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { ApiConfig } from './api.config.js';
import { childEnvironment } from './child-environment.js';
import { configurationDocument } from './configuration.document.js';
import { ConfigError, parseConfig } from './load-config.js';
import { LocalConfig } from './local.config.js';
import { OpsConfig } from './ops.config.js';
import type { Environment } from './variable.js';
import { WorkerConfig } from './worker.config.js';

const complete: Environment = {
  DATABASE_URL: 'postgresql://user:secret@host:5432/sluice',
  SLUICE_SECRET_KEY: 'ab'.repeat(32),
};

function problemsOf(configClass: new () => object, environment: Environment): string[] {
  try {
    parseConfig(configClass, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('parseConfig', () => {
  it('fills in the defaults', () => {
    const config = parseConfig(ApiConfig, complete);
    expect(config).toMatchObject({ host: '127.0.0.1', port: 3000, logLevel: 'info', site: 'SLC', queueLimit: 1000 });
    expect(config.queueUrl).toBe(complete.DATABASE_URL);
  });

  it('names every bad variable with what is expected', () => {
    const problems = problemsOf(ApiConfig, { PORT: '80x', LOG_LEVEL: 'loud', SLUICE_SECRET_KEY: 'short' });
    expect(problems.sort()).toEqual([
      'DATABASE_URL is not set; expected a URL such as postgresql://user:password@host:5432/database. ' +
        'The PostgreSQL database.',
      'LOG_LEVEL is "loud"; expected one of trace, debug, info, warn, error, fatal, silent.',
      'PORT is "80x"; expected a whole number from 0 to 65535.',
      'SLUICE_SECRET_KEY is a value that is not shown; expected 64 hex digits (32 bytes), as `openssl rand -hex 32` prints them.',
    ]);
  });

  it('names what the children of an app would stumble over, once, but not what it gives them itself', () => {
    const environment = { PORT: '-1', SLUICE_THREADS: '0', SLUICE_QUEUE_LIMIT: 'x', SLUICE_SWEEP_INTERVAL_MS: '1' };
    expect(() => parseConfig(LocalConfig, environment, [ApiConfig, WorkerConfig, OpsConfig])).toThrow(
      expect.objectContaining({
        problems: [
          expect.stringMatching(/^PORT is "-1"/),
          expect.stringMatching(/^SLUICE_QUEUE_LIMIT is "x"/),
          expect.stringMatching(/^SLUICE_THREADS is "0"/),
          expect.stringMatching(/^SLUICE_SWEEP_INTERVAL_MS is "1"/),
        ],
      }),
    );
    expect(parseConfig(LocalConfig, {}, [ApiConfig, WorkerConfig, OpsConfig]).port).toBe(3000);
  });

  it('names for its children what does not go together, but not what it gives them itself', () => {
    const children = [ApiConfig, WorkerConfig, OpsConfig];
    const half = { SLUICE_STAKE_RPC_URL: 'http://chain', SLUICE_S3_SECRET_ACCESS_KEY: 'hunter2' };
    expect(() => parseConfig(LocalConfig, half, children)).toThrow(
      expect.objectContaining({
        problems: [
          'SLUICE_STAKE_RPC_URL and SLUICE_STAKE_CONTRACT are set together or not at all.',
          'SLUICE_S3_ACCESS_KEY_ID and SLUICE_S3_SECRET_ACCESS_KEY are set together or not at all.',
        ],
      }),
    );
    const whole = { ...half, SLUICE_STAKE_CONTRACT: `0x${'ab'.repeat(20)}`, SLUICE_S3_ACCESS_KEY_ID: 'me' };
    expect(parseConfig(LocalConfig, whole, children).port).toBe(3000);
  });

  it.each([ApiConfig, OpsConfig, WorkerConfig])('refuses half a pair of keys of the bucket in %o', (configClass) => {
    const keys = ['SLUICE_S3_ACCESS_KEY_ID', 'SLUICE_S3_SECRET_ACCESS_KEY'];
    const environment = { ...complete, REDIS_URL: 'redis://host' };
    for (const key of keys) {
      expect(problemsOf(configClass, { ...environment, [key]: 'hunter2' })).toEqual([
        'SLUICE_S3_ACCESS_KEY_ID and SLUICE_S3_SECRET_ACCESS_KEY are set together or not at all.',
      ]);
    }
    const both = Object.fromEntries(keys.map((key) => [key, 'x']));
    expect(problemsOf(configClass, { ...environment, ...both })).toEqual([]);
  });

  it('refuses one key for the two roles of the first account, without telling it', () => {
    const [one, other] = [`slk_${'a'.repeat(20)}`, `slk_${'b'.repeat(20)}`];
    const keys = (admin: string, inference: string) => ({
      SLUICE_BOOTSTRAP_ADMIN_KEY: admin,
      SLUICE_BOOTSTRAP_INFERENCE_KEY: inference,
    });
    expect(problemsOf(LocalConfig, keys(one, one))).toEqual([
      'SLUICE_BOOTSTRAP_ADMIN_KEY and SLUICE_BOOTSTRAP_INFERENCE_KEY are the same; expected two different keys.',
    ]);
    expect(parseConfig(LocalConfig, keys(one, other)).bootstrapKeys).toEqual({ adminKey: one, inferenceKey: other });
    expect(problemsOf(LocalConfig, keys(one, ''))).toEqual([]);
  });

  it.each(['-1', '65536', '1.5', '1e3', ' ', 'NaN', '0x10'])('refuses %j as a port', (port) => {
    expect(problemsOf(ApiConfig, { ...complete, PORT: port })).toEqual([expect.stringContaining('PORT')]);
  });

  it.each(['10.0.0.0/8', '192.0.2.1, 2001:db8::/32', '::1'])('takes %j as proxies', (text) => {
    const { trustedProxies } = parseConfig(ApiConfig, { ...complete, SLUICE_TRUSTED_PROXIES: text });
    expect(trustedProxies.join(', ')).toBe(text);
  });

  it.each([
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0',
    '::/129',
    '10.0.0.0/',
    '0.0.0.0/0',
    '::/0',
    '::/00',
  ])('refuses %j as a proxy', (text) => {
    expect(problemsOf(ApiConfig, { ...complete, SLUICE_TRUSTED_PROXIES: text })).toEqual([
      `SLUICE_TRUSTED_PROXIES is "${text}"; expected addresses or networks such as 10.0.0.0/8, none of them /0, separated by commas.`,
    ]);
  });

  it('takes an empty variable as not set', () => {
    expect(parseConfig(ApiConfig, { ...complete, PORT: '', REDIS_URL: '' }).port).toBe(3000);
  });

  it('prefers the explicit queue, then Redis, then the database', () => {
    const redis = { ...complete, REDIS_URL: 'redis://one:6379' };
    expect(parseConfig(OpsConfig, redis).queueUrl).toBe('redis://one:6379');
    expect(parseConfig(OpsConfig, { ...redis, SLUICE_QUEUE_URL: 'redis://two:6379' }).queueUrl).toBe(
      'redis://two:6379',
    );
  });

  it('asks a worker for a queue that is not the database', () => {
    expect(problemsOf(WorkerConfig, complete)).toEqual([expect.stringMatching(/^SLUICE_QUEUE_URL or REDIS_URL/)]);
    expect(parseConfig(WorkerConfig, { REDIS_URL: 'redis://host' }).queueUrl).toBe('redis://host');
  });

  it('splits lists at commas', () => {
    expect(parseConfig(LocalConfig, { SLUICE_MODELS: ' stories-15m, starter ,' }).models).toEqual([
      'stories-15m',
      'starter',
    ]);
  });

  it('has a worker serve the starter models, none but the placed ones in a pool, and always those it is told', () => {
    const modelsOf = (environment: Environment) =>
      parseConfig(WorkerConfig, { REDIS_URL: 'redis://host', ...environment }).models;
    expect(modelsOf({})).toEqual(['starter']);
    expect(modelsOf({ SLUICE_POOL: 'text' })).toEqual([]);
    expect(modelsOf({ SLUICE_POOL: 'text', SLUICE_MODELS: 'one,two' })).toEqual(['one', 'two']);
  });

  it('reads budgets of memory by device, as amounts and as shares', () => {
    const worker = (SLUICE_MEMORY_BUDGET: string) => ({ REDIS_URL: 'redis://host', SLUICE_MEMORY_BUDGET });
    expect(parseConfig(WorkerConfig, worker('')).memoryBudget).toEqual([]);
    expect(parseConfig(WorkerConfig, worker('cpu=1.5GiB, cuda=50%')).memoryBudget).toEqual([
      { device: 'cpu', bytes: 1_610_612_736 },
      { device: 'cuda', share: 0.5 },
    ]);
    for (const wrong of ['6', '6GiB', 'gpu=1GiB', 'cpu=-1GiB', 'cpu=1GB', 'cpu=1GiB;cuda=1GiB']) {
      expect(problemsOf(WorkerConfig, worker(wrong))).toEqual([expect.stringMatching(/^SLUICE_MEMORY_BUDGET/)]);
    }
    const pool = { REDIS_URL: 'redis://host', SLUICE_POOL: 'text,Large' };
    expect(problemsOf(WorkerConfig, pool)).toEqual([expect.stringMatching(/^SLUICE_POOL/)]);
  });

  it('gives the first account credit, but in production only what it is told to', () => {
    const creditOf = (environment: Environment) => parseConfig(LocalConfig, environment).firstCreditUsd;
    expect(creditOf({})).toBe('100');
    expect(creditOf({ NODE_ENV: 'production' })).toBe('0');
    expect(creditOf({ NODE_ENV: 'production', SLUICE_BOOTSTRAP_CREDIT_USD: '5' })).toBe('5');
  });

  it('keeps closed betas closed and knows no region header, unless told', () => {
    expect(parseConfig(ApiConfig, complete)).toMatchObject({ betaModels: false, regionHeader: undefined });
    const told = { ...complete, SLUICE_BETA_MODELS: 'true', SLUICE_REGION_HEADER: 'X-Country' };
    expect(parseConfig(ApiConfig, told)).toMatchObject({ betaModels: true, regionHeader: 'X-Country' });
    const wrong = { ...complete, SLUICE_BETA_MODELS: 'maybe', SLUICE_REGION_HEADER: 'X Country' };
    expect(problemsOf(ApiConfig, wrong).map((problem) => problem.split(' ', 1)[0])).toEqual([
      'SLUICE_REGION_HEADER',
      'SLUICE_BETA_MODELS',
    ]);
  });

  describe('with secrets in files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    afterAll(() => rmSync(folder, { recursive: true }));

    const database = file('database-url', `${complete.DATABASE_URL}\n`);

    it('reads them less the line end', () => {
      const environment = { DATABASE_URL_FILE: database, SLUICE_SECRET_KEY_FILE: file('key', 'cd'.repeat(32)) };
      const config = parseConfig(OpsConfig, environment);
      expect(config).toMatchObject({ databaseUrl: complete.DATABASE_URL, secretKey: 'cd'.repeat(32) });
    });

    it('checks what stands there and tells none of it', () => {
      const short = { ...complete, SLUICE_SECRET_KEY: '', SLUICE_SECRET_KEY_FILE: file('short', 'hunter2\n') };
      expect(problemsOf(OpsConfig, short)).toEqual([
        expect.stringMatching(/^SLUICE_SECRET_KEY is a value that is not shown; expected 64 hex digits/),
      ]);
    });

    it('names a file that cannot be read or is empty, once', () => {
      const missing = join(folder, 'missing');
      const wrong = { DATABASE_URL_FILE: missing, SLUICE_SECRET_KEY_FILE: file('empty', '\n') };
      expect(problemsOf(OpsConfig, wrong)).toEqual([
        `DATABASE_URL_FILE cannot be used: ${missing} cannot be read (ENOENT).`,
        expect.stringMatching(/^SLUICE_SECRET_KEY_FILE cannot be used: .*empty is empty\.$/),
      ]);
    });

    it('refuses a secret that is set twice, and knows no file for what is no secret', () => {
      expect(problemsOf(OpsConfig, { ...complete, DATABASE_URL_FILE: database })).toEqual([
        expect.stringMatching(/^DATABASE_URL_FILE cannot be used: the variable without _FILE is set too/),
      ]);
      expect(parseConfig(ApiConfig, { ...complete, PORT_FILE: file('port', '1') }).port).toBe(3000);
    });

    it('names them for the children of an app too', () => {
      const environment = { SLUICE_S3_SECRET_ACCESS_KEY_FILE: join(folder, 'missing') };
      expect(() => parseConfig(LocalConfig, environment, [WorkerConfig])).toThrow(
        expect.objectContaining({ problems: [expect.stringMatching(/^SLUICE_S3_SECRET_ACCESS_KEY_FILE/)] }),
      );
    });

    it('takes the file away from a child that must not have the secret', () => {
      vi.stubEnv('DATABASE_URL_FILE', database);
      expect(childEnvironment({ DATABASE_URL: null })).not.toHaveProperty('DATABASE_URL_FILE');
      expect(childEnvironment()).toHaveProperty('DATABASE_URL_FILE', database);
      vi.unstubAllEnvs();
    });
  });

  it('keeps the home absolute', () => {
    expect(parseConfig(LocalConfig, { SLUICE_HOME: 'some where' }).home).toBe(resolve('some where'));
  });
});

describe('docs/configuration.md', () => {
  it('lists every variable of every process', async () => {
    const file = resolve(import.meta.dirname, '../../../../docs/configuration.md');
    const options = await prettier.resolveConfig(file);
    const text = await prettier.format(configurationDocument(), { ...options, parser: 'markdown' });
    await expect(text).toMatchFileSnapshot(file);
  });
});
