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
  it('applies the defaults', () => {
    const config = parseConfig(ApiConfig, complete);
    expect(config).toMatchObject({ host: '127.0.0.1', port: 3000, logLevel: 'info', site: 'SLC', queueLimit: 1000 });
    expect(config.queueUrl).toBe(complete.DATABASE_URL);
  });

  it('takes a public address with a path, without a slash at its end', () => {
    const publicUrl = (address: string) => problemsOf(ApiConfig, { ...complete, SLUICE_PUBLIC_URL: address });
    for (const good of ['https://api.example.org', 'http://10.0.0.1:3000', 'https://example.org/ai/v2'])
      expect(publicUrl(good), good).toEqual([]);
    for (const bad of ['https://example.org/', 'https://example.org/ai/', 'https://example.org?a', 'example.org/ai'])
      expect(publicUrl(bad), bad).toEqual([expect.stringContaining('SLUICE_PUBLIC_URL')]);
    const { wallets } = parseConfig(ApiConfig, { ...complete, SLUICE_PUBLIC_URL: 'https://example.org/ai' });
    expect(wallets.origins).toEqual(['https://example.org']);
  });

  it('names every invalid variable with the expected value', () => {
    const problems = problemsOf(ApiConfig, { PORT: '80x', LOG_LEVEL: 'loud', SLUICE_SECRET_KEY: 'short' });
    expect(problems.sort()).toEqual([
      'DATABASE_URL is not set; expected a URL such as postgresql://user:password@host:5432/database. ' +
        'The PostgreSQL database.',
      'LOG_LEVEL is "loud"; expected one of trace, debug, info, warn, error, fatal, silent.',
      'PORT is "80x"; expected a whole number from 0 to 65535.',
      'SLUICE_SECRET_KEY is a value that is not shown; expected 64 hex digits (32 bytes), as `openssl rand -hex 32` prints them.',
    ]);
  });

  it('wants what each search provider needs, and prices of known ones', () => {
    const problems = (environment: Environment) => problemsOf(ApiConfig, { ...complete, ...environment }).join('\n');
    expect(problems({ SLUICE_SEARCH_PROVIDERS: 'searxng' })).toContain('SLUICE_SEARXNG_URL is not set');
    expect(problems({ SLUICE_SEARCH_PROVIDERS: 'brave,tavily', SLUICE_BRAVE_SEARCH_KEY: 'key' })).toContain(
      'SLUICE_TAVILY_KEY is not set',
    );
    expect(problems({ SLUICE_SEARCH_PROVIDERS: 'other' })).toContain('SLUICE_SEARCH_PROVIDERS');
    expect(problems({ SLUICE_SEARCH_PRICES: 'other=1' })).toContain('SLUICE_SEARCH_PRICES has "other=1"');
    expect(problems({ SLUICE_SEARCH_PRICES: 'brave=-1' })).toContain('SLUICE_SEARCH_PRICES');
    const environment = {
      ...complete,
      SLUICE_SEARCH_PROVIDERS: 'serper,brave',
      SLUICE_BRAVE_SEARCH_KEY: 'b',
      SLUICE_SERPER_KEY: 's',
      SLUICE_SEARCH_PRICES: 'brave=0.005',
    };
    expect(parseConfig(ApiConfig, environment).search.providers).toEqual([
      { name: 'serper', secret: 's', priceUsd: 0.01 },
      { name: 'brave', secret: 'b', priceUsd: 0.005 },
    ]);
    expect(parseConfig(ApiConfig, complete).search.providers).toEqual([]);
  });

  it('reads the RPC nodes of networks, and shows none of their keys', () => {
    const problems = (upstreams: string) =>
      problemsOf(ApiConfig, { ...complete, SLUICE_RPC_UPSTREAMS: upstreams }).join('\n');
    const good = 'base-mainnet=https://a.example/v2/key=?k=1,2';
    expect(parseConfig(ApiConfig, { ...complete, SLUICE_RPC_UPSTREAMS: `${good}\n ${good}#archive` }).rpc).toEqual({
      timeoutMs: 15_000,
      hedgeMs: 0,
      upstreams: [false, true].map((isArchive) => {
        return { network: 'base-mainnet', url: 'https://a.example/v2/key=?k=1,2', isArchive };
      }),
    });
    expect(problems(`${good} https://b.example/hidden`)).toContain('Entry 2 of SLUICE_RPC_UPSTREAMS');
    expect(problems('dogecoin=https://b.example/hidden')).toContain('the networks are arbitrum-mainnet, ');
    expect(problems('base-mainnet=ws://b.example/hidden')).toContain('has no http or https URL');
    expect(problems('base-mainnet=https://')).toContain('has no http or https URL');
    expect(problems(`${good}#archived`)).toContain('#archive only');
    for (const bad of ['x=https://hidden/', 'hidden', 'base-mainnet=hidden', `${good}#hidden`]) {
      expect(problems(bad)).not.toContain('hidden');
    }
    expect(parseConfig(ApiConfig, complete).rpc.upstreams).toEqual([]);
    expect(parseConfig(ApiConfig, { ...complete, SLUICE_RPC_HEDGE_MS: '250' }).rpc.hedgeMs).toBe(250);
  });

  it('reports errors of child processes once, except for variables that the parent sets', () => {
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

  it('reports inconsistent variables of child processes, except for those that the parent sets', () => {
    const children = [ApiConfig, WorkerConfig, OpsConfig];
    const half = { SLUICE_STAKE_RPC_URL: 'http://chain', SLUICE_S3_SECRET_ACCESS_KEY: 'hunter2' };
    expect(() => parseConfig(LocalConfig, half, children)).toThrow(
      expect.objectContaining({
        problems: [
          'SLUICE_S3_ACCESS_KEY_ID and SLUICE_S3_SECRET_ACCESS_KEY must be set together or not at all.',
          'SLUICE_STAKE_RPC_URL and SLUICE_STAKE_CONTRACT must be set together or not at all.',
        ],
      }),
    );
    const whole = { ...half, SLUICE_STAKE_CONTRACT: `0x${'ab'.repeat(20)}`, SLUICE_S3_ACCESS_KEY_ID: 'me' };
    expect(parseConfig(LocalConfig, whole, children).port).toBe(3000);
  });

  it.each([ApiConfig, OpsConfig, WorkerConfig])('rejects half a key pair of the bucket in %o', (configClass) => {
    const keys = ['SLUICE_S3_ACCESS_KEY_ID', 'SLUICE_S3_SECRET_ACCESS_KEY'];
    const environment = { ...complete, REDIS_URL: 'redis://host' };
    for (const key of keys) {
      expect(problemsOf(configClass, { ...environment, [key]: 'hunter2' })).toEqual([
        'SLUICE_S3_ACCESS_KEY_ID and SLUICE_S3_SECRET_ACCESS_KEY must be set together or not at all.',
      ]);
    }
    const both = Object.fromEntries(keys.map((key) => [key, 'x']));
    expect(problemsOf(configClass, { ...environment, ...both })).toEqual([]);
  });

  it('rejects the same key for both roles of the first account without printing it', () => {
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

  it.each(['-1', '65536', '1.5', '1e3', ' ', 'NaN', '0x10'])('rejects %j as a port', (port) => {
    expect(problemsOf(ApiConfig, { ...complete, PORT: port })).toEqual([expect.stringContaining('PORT')]);
  });

  it.each(['10.0.0.0/8', '192.0.2.1, 2001:db8::/32', '::1'])('accepts %j as proxies', (text) => {
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
  ])('rejects %j as a proxy', (text) => {
    expect(problemsOf(ApiConfig, { ...complete, SLUICE_TRUSTED_PROXIES: text })).toEqual([
      `SLUICE_TRUSTED_PROXIES is "${text}"; expected addresses or networks such as 10.0.0.0/8, none of them /0, separated by commas.`,
    ]);
  });

  it('treats an empty variable as not set', () => {
    expect(parseConfig(ApiConfig, { ...complete, PORT: '', REDIS_URL: '' }).port).toBe(3000);
  });

  it('prefers the explicit queue, then Redis, then the database', () => {
    const redis = { ...complete, REDIS_URL: 'redis://one:6379' };
    expect(parseConfig(OpsConfig, redis).queueUrl).toBe('redis://one:6379');
    expect(parseConfig(OpsConfig, { ...redis, SLUICE_QUEUE_URL: 'redis://two:6379' }).queueUrl).toBe(
      'redis://two:6379',
    );
  });

  it('requires a queue other than the database for a worker', () => {
    expect(problemsOf(WorkerConfig, complete)).toEqual([expect.stringMatching(/^SLUICE_QUEUE_URL or REDIS_URL/)]);
    expect(parseConfig(WorkerConfig, { REDIS_URL: 'redis://host' }).queueUrl).toBe('redis://host');
  });

  it('splits lists at commas', () => {
    expect(parseConfig(LocalConfig, { SLUICE_MODELS: ' stories-15m, starter ,' }).models).toEqual([
      'stories-15m',
      'starter',
    ]);
  });

  it('selects the starter models for a worker, only placed ones in a pool, and always those it is given', () => {
    const modelsOf = (environment: Environment) =>
      parseConfig(WorkerConfig, { REDIS_URL: 'redis://host', ...environment }).models;
    expect(modelsOf({})).toEqual(['starter']);
    expect(modelsOf({ SLUICE_POOL: 'text' })).toEqual([]);
    expect(modelsOf({ SLUICE_POOL: 'text', SLUICE_MODELS: 'one,two' })).toEqual(['one', 'two']);
  });

  it('parses memory budgets per device as amounts and shares', () => {
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

  it('grants the first account credit, in production only the configured amount', () => {
    const creditOf = (environment: Environment) => parseConfig(LocalConfig, environment).firstCreditUsd;
    expect(creditOf({})).toBe('100');
    expect(creditOf({ NODE_ENV: 'production' })).toBe('0');
    expect(creditOf({ NODE_ENV: 'production', SLUICE_BOOTSTRAP_CREDIT_USD: '5' })).toBe('5');
  });

  it('names the words of SLUICE_PROVIDERS where it has another', () => {
    const [problem] = problemsOf(WorkerConfig, { REDIS_URL: 'redis://queue', SLUICE_PROVIDERS: 'gpu,cpu' });
    expect(problem).toMatch(/^SLUICE_PROVIDERS is "gpu,cpu"; expected words separated by commas, of cuda, webgpu, cpu/);
  });

  it('takes providers of libraries, each by a name of its own', () => {
    const environment = (libraries: string, providers: string): Environment => {
      return { REDIS_URL: 'redis://queue', SLUICE_PROVIDER_LIBRARIES: libraries, SLUICE_PROVIDERS: providers };
    };
    const config = parseConfig(
      WorkerConfig,
      environment('npu=/opt/a b/npu.so,webgpu=/opt/webgpu.so', 'npu,webgpu,cpu'),
    );
    expect([config.providers, config.providerLibraries]).toEqual([
      ['npu', 'webgpu', 'cpu'],
      [
        { provider: 'npu', path: '/opt/a b/npu.so' },
        { provider: 'webgpu', path: '/opt/webgpu.so' },
      ],
    ]);
    for (const wrong of ['/opt/npu.so', 'npu=npu.so', 'npu=/a.so,npu=/b.so', 'cpu=/opt/cpu.so', 'NPU=/opt/npu.so']) {
      expect(problemsOf(WorkerConfig, environment(wrong, 'cpu'))).toEqual([
        expect.stringMatching(/^SLUICE_PROVIDER_LIBRARIES is .*; expected absolute paths, each with a name of its own/),
      ]);
    }
    expect(problemsOf(WorkerConfig, environment('npu=/opt/npu.so', 'gpu,cpu'))).toEqual([
      expect.stringMatching(/^SLUICE_PROVIDERS is "gpu,cpu"; .* and the names in SLUICE_PROVIDER_LIBRARIES/),
    ]);
  });

  it('disables closed beta models and the region header by default', () => {
    expect(parseConfig(ApiConfig, complete)).toMatchObject({ betaModels: false, regionHeader: undefined });
    const told = { ...complete, SLUICE_BETA_MODELS: 'true', SLUICE_REGION_HEADER: 'X-Country' };
    expect(parseConfig(ApiConfig, told)).toMatchObject({ betaModels: true, regionHeader: 'X-Country' });
    const wrong = { ...complete, SLUICE_BETA_MODELS: 'maybe', SLUICE_REGION_HEADER: 'X Country' };
    expect(problemsOf(ApiConfig, wrong).map((problem) => problem.split(' ', 1)[0])).toEqual([
      'SLUICE_REGION_HEADER',
      'SLUICE_BETA_MODELS',
    ]);
  });

  describe('secrets in files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    afterAll(() => rmSync(folder, { recursive: true }));

    const database = file('database-url', `${complete.DATABASE_URL}\n`);

    it('are read without the trailing newline', () => {
      const environment = { DATABASE_URL_FILE: database, SLUICE_SECRET_KEY_FILE: file('key', 'cd'.repeat(32)) };
      const config = parseConfig(OpsConfig, environment);
      expect(config).toMatchObject({ databaseUrl: complete.DATABASE_URL, secretKey: 'cd'.repeat(32) });
    });

    it('are validated without being printed', () => {
      const short = { ...complete, SLUICE_SECRET_KEY: '', SLUICE_SECRET_KEY_FILE: file('short', 'hunter2\n') };
      expect(problemsOf(OpsConfig, short)).toEqual([
        expect.stringMatching(/^SLUICE_SECRET_KEY is a value that is not shown; expected 64 hex digits/),
      ]);
    });

    it('report an unreadable or empty file once', () => {
      const missing = join(folder, 'missing');
      const wrong = { DATABASE_URL_FILE: missing, SLUICE_SECRET_KEY_FILE: file('empty', '\n') };
      expect(problemsOf(OpsConfig, wrong)).toEqual([
        `DATABASE_URL_FILE cannot be used: ${missing} cannot be read (ENOENT).`,
        expect.stringMatching(/^SLUICE_SECRET_KEY_FILE cannot be used: .*empty is empty\.$/),
      ]);
    });

    it('are rejected when set twice, and not supported for variables that are not secret', () => {
      expect(problemsOf(OpsConfig, { ...complete, DATABASE_URL_FILE: database })).toEqual([
        expect.stringMatching(
          /^DATABASE_URL_FILE cannot be used: only one of the variable and its _FILE variant may be set/,
        ),
      ]);
      expect(parseConfig(ApiConfig, { ...complete, PORT_FILE: file('port', '1') }).port).toBe(3000);
    });

    it('are validated for child processes too', () => {
      const environment = { SLUICE_S3_SECRET_ACCESS_KEY_FILE: join(folder, 'missing') };
      expect(() => parseConfig(LocalConfig, environment, [WorkerConfig])).toThrow(
        expect.objectContaining({ problems: [expect.stringMatching(/^SLUICE_S3_SECRET_ACCESS_KEY_FILE/)] }),
      );
    });

    it('are removed from a child that must not have the secret', () => {
      vi.stubEnv('DATABASE_URL_FILE', database);
      expect(childEnvironment({ DATABASE_URL: null })).not.toHaveProperty('DATABASE_URL_FILE');
      expect(childEnvironment()).toHaveProperty('DATABASE_URL_FILE', database);
      vi.unstubAllEnvs();
    });
  });

  it('makes the home absolute', () => {
    expect(parseConfig(LocalConfig, { SLUICE_HOME: 'some where' }).home).toBe(resolve('some where'));
  });
});

describe('docs/reference/configuration.md', () => {
  it('lists every variable of every process', async () => {
    const file = resolve(import.meta.dirname, '../../../../docs/reference/configuration.md');
    const options = await prettier.resolveConfig(file);
    const text = await prettier.format(configurationDocument(), { ...options, parser: 'markdown' });
    await expect(text).toMatchFileSnapshot(file);
  });
});
