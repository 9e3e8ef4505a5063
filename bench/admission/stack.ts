import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger, isConsistent } from '#billing';
import { nanosPerUsd } from '#common';
import { ModelRegistryService, ModelRepository, noOnlineModels } from '#model-registry';
import { migrate } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { endProcess } from '#test/end-process';
import { freePort } from '#test/free-port';
import { startPostgres, type TestPostgres } from '#test/postgres-server';
import { startRedis, type TestRedis } from '#test/redis';
import { unboundLimits } from '#test/unbound-limits';

export const modelId = 'bench';

const startWithinMs = 60_000;
const dist = fileURLToPath(new URL('../../', import.meta.url));

export interface StackOptions {
  accounts: number;
  /** Folder for `--cpu-prof` of api, worker (with its model host) and ops. */
  profiles?: string;
  /** Concurrent requests of a worker; default: 16. */
  slots?: number;
}

/** The platform as an operator runs it, with its own Redis and PostgreSQL and the deterministic test engine. */
export class Stack {
  readonly keys: string[] = [];
  readonly apiPort: number;
  readonly redisUrl: string;
  readonly pool: pg.Pool;
  private readonly children = new Map<string, ChildProcess>();
  private readonly log: string[] = [];

  private constructor(
    private readonly home: string,
    private readonly postgres: TestPostgres,
    private readonly redis: TestRedis,
    private readonly databaseUrl: string,
    apiPort: number,
  ) {
    this.apiPort = apiPort;
    this.redisUrl = redis.url;
    this.pool = new pg.Pool({ connectionString: databaseUrl, max: 1, application_name: 'bench' });
  }

  static async start(options: StackOptions): Promise<Stack> {
    const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
    // Durable as in production, with statement statistics.
    const postgres = await startPostgres({ fsync: 'on', shared_preload_libraries: 'pg_stat_statements' });
    const redis = await startRedis();
    await migrate({ url: postgres.url });
    const stack = new Stack(home, postgres, redis, postgres.url, await freePort());
    await stack.seed(options);
    await stack.pool.query('CREATE EXTENSION pg_stat_statements');
    stack.spawnAll(options.profiles);
    await stack.untilOnline();
    return stack;
  }

  /** Root process of every process tree, by name. */
  get roots(): Record<string, number> {
    const own = Object.fromEntries([...this.children].map(([name, { pid }]) => [name, pid ?? 0]));
    return { ...own, postgres: this.postgres.pid, redis: this.redis.pid, load: process.pid };
  }

  /** Starts and drains workers to reach `count`; resolves when the API knows exactly these. */
  async setWorkers(count: number): Promise<void> {
    const names = [...this.children.keys()].filter((name) => name.startsWith('worker'));
    for (let number = names.length + 1; number <= count; number += 1) this.spawnWorker(`worker-${number}`);
    const surplus = names.slice(count);
    await Promise.all(surplus.map((name) => endProcess(this.children.get(name), 'SIGTERM')));
    for (const name of surplus) this.children.delete(name);
    await this.until('all workers are ready', async () => (await this.readyWorkers()) === count);
  }

  /** Resolves when no job is open, that is, when every request is billed. */
  async untilSettled(): Promise<void> {
    const deadline = performance.now() + startWithinMs;
    for (;;) {
      const { rows } = await this.pool.query(`SELECT FROM jobs WHERE state IN ('queued', 'running') LIMIT 1`);
      if (rows.length === 0) return;
      if (performance.now() > deadline) throw new Error('jobs stay open');
      await pause(20);
    }
  }

  /** Size of the database and of its write-ahead log since creation, in bytes. */
  async databaseBytes(): Promise<{ stored: number; logged: number }> {
    const { rows } = await this.pool.query<{ stored: string; logged: string }>(
      `SELECT pg_database_size(current_database()) AS stored, pg_current_wal_lsn() - '0/0'::pg_lsn AS logged`,
    );
    return { stored: Number(rows[0]?.stored), logged: Number(rows[0]?.logged) };
  }

  /** Throws if the ledger is inconsistent. */
  async verifyLedger(): Promise<void> {
    const prisma = new PrismaService({ url: this.databaseUrl, poolSize: 1 });
    try {
      const report = await createLedger(prisma).verify();
      if (!isConsistent(report)) throw new Error(`the ledger is broken: ${JSON.stringify(report.breaks, String)}`);
    } finally {
      await prisma.$disconnect();
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
    await Promise.all([...this.children.values()].map((child) => endProcess(child, 'SIGTERM')));
    await this.redis.close();
    await this.postgres.close();
    await rm(this.home, { recursive: true, force: true });
  }

  private async seed({ accounts, slots = 16 }: StackOptions): Promise<void> {
    const manifest = deterministicManifest(modelId, { slots, cacheTokens: slots * 1_000 });
    await installDeterministicModel(this.home, manifest);
    const prisma = new PrismaService({ url: this.databaseUrl, poolSize: 4 });
    try {
      await new ModelRegistryService(new ModelRepository(prisma), noOnlineModels).upsert([manifest]);
      const service = new AccountsService(new AccountsRepository(prisma));
      const ledger = createLedger(prisma);
      for (let index = 0; index < accounts; index += 1) {
        const { id } = await service.createAccount(`bench ${index}`);
        const { key } = await service.createKey({ accountId: id, kind: 'INFERENCE' });
        await ledger.credit('grant', { accountId: id, currency: 'USD', amountNano: nanosPerUsd * 100_000n });
        await unboundLimits(prisma, id);
        this.keys.push(key);
      }
    } finally {
      await prisma.$disconnect();
    }
  }

  private get commonEnvironment(): Record<string, string> {
    return { SLUICE_HOME: this.home, LOG_LEVEL: 'warn', REDIS_URL: this.redisUrl };
  }

  private spawnWorker(name: string, profiles?: string): void {
    const worker = { ...this.commonEnvironment, SLUICE_MODELS: modelId, SLUICE_WORKER_PORT: '0' };
    this.spawn(name, 'test/harness/worker-main.js', worker, profiles);
  }

  private spawnAll(profiles?: string): void {
    const truth = {
      ...this.commonEnvironment,
      DATABASE_URL: this.databaseUrl,
      SLUICE_SECRET_KEY: randomBytes(32).toString('hex'),
    };
    this.spawn('ops', 'apps/ops/src/main.js', { ...truth, SLUICE_OPS_PORT: '0' }, profiles);
    this.spawnWorker('worker', profiles);
    const shown = { SLUICE_API_HEALTH_PORT: '0', SLUICE_API_PUBLIC_HEALTH: 'true' };
    const api = { ...truth, ...shown, HOST: '127.0.0.1', PORT: String(this.apiPort) };
    this.spawn('api', 'apps/api/src/main.js', api, profiles);
  }

  private spawn(name: string, entry: string, env: Record<string, string>, profiles?: string): void {
    const flags = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(profiles, name)}`];
    const child = spawn(process.execPath, [...flags, join(dist, entry)], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.log.push(`${name}: ${text}`);
        this.log.splice(0, this.log.length - 100);
      });
    }
    this.children.set(name, child);
  }

  private untilOnline(): Promise<void> {
    return this.until('the platform is online', () => this.isOnline());
  }

  private async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + startWithinMs;
    while (!(await holds().catch(() => false))) {
      if (performance.now() > deadline)
        throw new Error(`timed out waiting for: ${what}; the log:\n${this.log.join('')}`);
      await pause(100);
    }
  }

  /** Ready workers as counted by the API. */
  private async readyWorkers(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.apiPort}/metrics`)).text();
    const [, count] =
      new RegExp(`^sluice_model_workers\\{model="${modelId}",state="ready".*\\} (\\d+)$`, 'm').exec(text) ?? [];
    return Number(count);
  }

  private async isOnline(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.apiPort}/api/v1/models`);
    const { data } = (await response.json()) as { data: { id: string; model_spec: { offline: boolean } }[] };
    return data.some(({ id, model_spec: spec }) => id === modelId && !spec.offline);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
