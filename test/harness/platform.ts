import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { AccountsService } from '#accounts';
import { LedgerService } from '#billing';
import { nanosPerUsd } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { ModelRegistryService, noOnlineModels } from '#model-registry';
import { ensureQueueRole } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { freePort } from './free-port.js';
import { createMigratedDatabase, type TestDatabase } from './postgres.js';
import { startRedis, type TestRedis } from './redis.js';
import { installTinyModel, type TinyModelOptions } from './tiny-models.js';

export type PlatformRole = 'api' | 'worker' | 'ops';

export interface PlatformOptions {
  /** Tiny models to generate; default one named `tiny-llama`. */
  models?: TinyModelOptions[];
  /** Where the queue lives; default Postgres. */
  transport?: 'postgres' | 'redis';
  /** `deterministic`: words drawn from a hash, steered by directives. `text`: the product's engine. Default deterministic. */
  engine?: 'deterministic' | 'text';
  /** Further environment of every process. */
  env?: Record<string, string>;
  /** A home with installed models instead of a fresh one; it is left in place. */
  home?: string;
  /** What the account can spend, in nano-USD; default 1000 USD. */
  creditNano?: bigint;
  /** Manifests of the models in `home`. */
  manifests?: ModelManifest[];
}

/** One job row, as tests look at it. */
export interface JobRow {
  request_id: string;
  state: string;
  error_code: string | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
}

/** The whole platform in real processes, with a home and a database of its own. */
export interface Platform {
  /** `http://127.0.0.1:<port>/api/v1`. */
  readonly baseUrl: string;
  /** `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly port: number;
  /** For `expectInvariant`. */
  readonly databaseUrl: string;
  readonly inferenceKey: string;
  readonly adminKey: string;
  readonly home: string;
  query<Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Resolves with all rows when none is open; rejects naming the open ones after `withinMs`. */
  closedJobs(withinMs?: number): Promise<JobRow[]>;
  pid(role: PlatformRole): number;
  /** The process of a model's host now, as the worker logged it. */
  hostPid(modelId: string): number;
  /** Sends a signal (SIGKILL by default) and waits for the process to end. */
  kill(role: PlatformRole, signal?: NodeJS.Signals): Promise<{ code: number | null }>;
  /** Starts a process that was killed. */
  start(role: PlatformRole): Promise<void>;
  /** Resolves when every model is online. */
  untilOnline(): Promise<void>;
  /** What the processes logged; for a failing test. */
  log(): string;
  stop(): Promise<void>;
}

const distFolder = fileURLToPath(new URL('../../dist/', import.meta.url));

const entries: Record<PlatformRole, Record<'deterministic' | 'text', string>> = {
  api: { deterministic: 'apps/api/src/main.js', text: 'apps/api/src/main.js' },
  worker: { deterministic: 'test/harness/worker-main.js', text: 'apps/worker/src/main.js' },
  ops: { deterministic: 'apps/ops/src/main.js', text: 'apps/ops/src/main.js' },
};

const roles: PlatformRole[] = ['ops', 'worker', 'api'];

/** Starts everything and resolves when every model is online. `npm run build` comes first: the processes run `dist`. */
export async function startPlatform(options: PlatformOptions = {}): Promise<Platform> {
  const platform = new RunningPlatform(options);
  try {
    await platform.open();
    return platform;
  } catch (error) {
    const log = platform.log();
    await platform.stop();
    throw new Error(`the platform did not start; its log:\n${log}`, { cause: error });
  }
}

class RunningPlatform implements Platform {
  readonly inferenceKey = `slk_${randomBytes(24).toString('hex')}`;
  readonly adminKey = `slk_${randomBytes(24).toString('hex')}`;
  home = '';
  port = 0;
  private database: TestDatabase | null = null;
  private redis: TestRedis | null = null;
  private pool: pg.Pool | null = null;
  private environments: Record<PlatformRole, Record<string, string>> | null = null;
  private modelIds: string[] = [];
  private readonly children = new Map<PlatformRole, ChildProcess>();
  private readonly lines: string[] = [];

  constructor(private readonly options: PlatformOptions) {}

  get databaseUrl(): string {
    if (this.database === null) throw new Error('the platform is not open');
    return this.database.url;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get baseUrl(): string {
    return `${this.origin}/api/v1`;
  }

  async open(): Promise<void> {
    this.home = this.options.home ?? (await mkdtemp(join(tmpdir(), 'sluice-home-')));
    this.database = await createMigratedDatabase();
    this.pool = new pg.Pool({ connectionString: this.database.url, max: 2 });
    // The pool lets go of its clients before the server has; the one that drops the database then ends them loudly.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    if (this.options.transport === 'redis') this.redis = await startRedis();
    this.port = await freePort();
    await this.seed(this.database.url);
    this.environments = await this.environmentOf(this.database.url);
    await Promise.all(roles.map((role) => this.start(role)));
    await this.untilOnline();
  }

  async query<Row extends pg.QueryResultRow>(statement: string, values: unknown[] = []): Promise<Row[]> {
    if (this.pool === null) throw new Error('the platform is not open');
    return (await this.pool.query<Row>(statement, values)).rows;
  }

  async closedJobs(withinMs = 15_000): Promise<JobRow[]> {
    const columns = 'request_id, state, error_code, prompt_tokens, completion_tokens';
    const read = () => this.query<JobRow>(`SELECT ${columns} FROM jobs ORDER BY created_at`);
    const isOpen = ({ state }: JobRow): boolean => state === 'queued' || state === 'running';
    const deadline = performance.now() + withinMs;
    for (;;) {
      const rows = await read();
      const open = rows.filter(isOpen);
      if (open.length === 0) return rows;
      if (performance.now() > deadline) throw new Error(`jobs are still open: ${JSON.stringify(open)}\n${this.log()}`);
      await pause(50);
    }
  }

  pid(role: PlatformRole): number {
    const pid = this.children.get(role)?.pid;
    if (pid === undefined) throw new Error(`the ${role} does not run`);
    return pid;
  }

  hostPid(modelId: string): number {
    const loaded = [...this.lines.join('').matchAll(/"model":"([^"]+)","pid":(\d+)/g)].filter(
      ([, id]) => id === modelId,
    );
    const pid = Number(loaded.at(-1)?.[2]);
    if (!pid) throw new Error(`no host of ${modelId} was logged`);
    return pid;
  }

  async start(role: PlatformRole): Promise<void> {
    const env = this.environments?.[role] ?? {};
    const entry = join(distFolder, entries[role][this.options.engine ?? 'deterministic']);
    const child = spawn(process.execPath, [entry], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.children.set(role, child);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => this.note(`${role}: ${text}`));
    }
    child.once('exit', (code, signal) => this.note(`${role} ended with ${String(code ?? signal)}`));
    if (role === 'api') await this.until('the api is ready', async () => (await this.get('/health/ready')).ok);
  }

  async kill(role: PlatformRole, signal: NodeJS.Signals = 'SIGKILL'): Promise<{ code: number | null }> {
    const child = this.children.get(role);
    this.children.delete(role);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return { code: null };
    const ended = new Promise<{ code: number | null }>((resolve) => child.once('exit', (code) => resolve({ code })));
    child.kill(signal);
    return await ended;
  }

  async untilOnline(): Promise<void> {
    await this.until('every model is online', async () => {
      const response = await this.get('/api/v1/models?type=all');
      const { data } = (await response.json()) as { data: { id: string; model_spec: { offline: boolean } }[] };
      const online = data.filter(({ model_spec: spec }) => !spec.offline).map(({ id }) => id);
      return this.modelIds.every((id) => online.includes(id));
    });
  }

  log(): string {
    return this.lines.slice(-300).join('');
  }

  async stop(): Promise<void> {
    await Promise.all(roles.map((role) => this.kill(role, 'SIGKILL')));
    await this.pool?.end();
    await this.database?.drop();
    await this.redis?.close();
    if (this.options.home === undefined && this.home !== '') await rm(this.home, { recursive: true, force: true });
  }

  private note(text: string): void {
    this.lines.push(text);
    if (this.lines.length > 2_000) this.lines.splice(0, 1_000);
  }

  private async get(path: string): Promise<Response> {
    return await fetch(`${this.origin}${path}`);
  }

  private async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (!(await holds().catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`not within 60 s: ${what}`);
      const dead = [...this.children].find(([, child]) => child.exitCode !== null);
      if (dead !== undefined) throw new Error(`the ${dead[0]} ended while waiting: ${what}`);
      await pause(50);
    }
  }

  private async seed(databaseUrl: string): Promise<void> {
    const { manifests, models = [{ id: 'tiny-llama' }] } = this.options;
    const installed = manifests ?? (await Promise.all(models.map((model) => installTinyModel(this.home, model))));
    this.modelIds = installed.map(({ id }) => id);
    const prisma = new PrismaService({ url: databaseUrl, poolSize: 2 });
    try {
      await new ModelRegistryService(prisma, noOnlineModels).upsert(installed);
      const { adminKey, inferenceKey } = this;
      const first = await new AccountsService(prisma).bootstrap({ adminKey, inferenceKey });
      const { creditNano = nanosPerUsd * 1_000n } = this.options;
      if (first !== null && creditNano > 0n) {
        await new LedgerService(prisma).credit('grant', {
          accountId: first.accountId,
          currency: 'USD',
          amountNano: creditNano,
        });
      }
    } finally {
      await prisma.$disconnect();
    }
  }

  private async environmentOf(databaseUrl: string): Promise<Record<PlatformRole, Record<string, string>>> {
    const secretKey = randomBytes(32).toString('hex');
    const queueUrl = this.redis?.url ?? (await ensureQueueRole({ url: databaseUrl, secretKey }));
    const common = { SLUICE_HOME: this.home, LOG_LEVEL: 'info', SLUICE_QUEUE_URL: queueUrl, ...this.options.env };
    const truth = { ...common, DATABASE_URL: databaseUrl, SLUICE_SECRET_KEY: secretKey };
    return {
      api: { ...truth, HOST: '127.0.0.1', PORT: String(this.port) },
      worker: { ...common, SLUICE_MODELS: this.modelIds.join(','), SLUICE_WORKER_PORT: '0' },
      ops: { ...truth, SLUICE_OPS_PORT: '0' },
    };
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
