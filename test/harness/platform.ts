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
import { EngineJournal } from './engine-journal.js';
import { createDatabaseOn, createMigratedDatabase, startPostgres } from './postgres.js';
import type { TestDatabase, TestPostgres } from './postgres.js';
import { startRedis, type TestRedis } from './redis.js';
import { type Site, thisMachine } from './site.js';
import { TcpProxy } from './tcp-proxy.js';
import { installTinyModel, type TinyModelOptions } from './tiny-models.js';
import { unboundLimits } from './unbound-limits.js';

export type PlatformRole = 'api' | 'worker' | 'ops';
export type WiredStore = 'queue' | 'database';

/** The first process of a role bears its name, further ones a number from 2: `api-2`. */
export type PlatformProcess = PlatformRole | `${PlatformRole}-${number}`;

export interface PlatformOptions {
  /** Tiny models to generate; default one named `tiny-llama`. */
  models?: TinyModelOptions[];
  /** Where the queue lives; default Postgres. */
  transport?: 'postgres' | 'redis';
  /** `deterministic`: words drawn from a hash, steered by directives. `text`: the product's engine. Default deterministic. */
  engine?: 'deterministic' | 'text';
  /** Further environment of every process. */
  env?: Record<string, string>;
  /** Further environment of single processes. */
  processEnv?: Partial<Record<PlatformProcess, Record<string, string>>>;
  /** A home with installed models instead of a fresh one; it is left in place. */
  home?: string;
  /**
   * Rate limits of the account and the block after failures: `contract` as callers have them. Default `unbounded`, far
   * above what tests need; each request is counted all the same.
   */
  limits?: 'unbounded' | 'contract';
  /** What the account can spend, in nano-USD; default 1000 USD. */
  creditNano?: bigint;
  /** Manifests of the models in `home`. */
  manifests?: ModelManifest[];
  /** Those of them that the worker's `SLUICE_MODELS` does not name, for tests that place them in its pool. */
  unnamed?: string[];
  /** How many processes of a role; default one each. */
  replicas?: Partial<Record<PlatformRole, number>>;
  /** A PostgreSQL server of this platform alone, for tests that stop it; default the server that the run shares. */
  ownPostgres?: boolean;
  /** Hears everything that the processes write, as they write it. */
  onLog?: (text: string) => void;
  /** Lays a wire that can be broken between each process and each store: `platform.wire('api', 'queue')`. */
  wires?: boolean;
  /** Further options of `redis-server`, e.g. `['--appendonly', 'yes']`. */
  redisArguments?: string[];
  /** Default: everything on the loopback of this machine; another one needs `ownPostgres`. */
  site?: Site;
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
  /** Of every api replica, the first one first. */
  readonly origins: readonly string[];
  /** For `expectInvariant`. */
  readonly databaseUrl: string;
  readonly inferenceKey: string;
  readonly adminKey: string;
  /** `SLUICE_SECRET_KEY` of api and ops. */
  readonly secretKey: string;
  readonly home: string;
  /** The Redis of the queue; throws on the Postgres transport. */
  readonly redis: TestRedis;
  /** The server of `ownPostgres`; throws without. */
  readonly postgres: TestPostgres;
  /** Between a role and the store of its queue, or the database; throws without `wires`. Workers have no database. */
  wire(role: PlatformRole, store: WiredStore): TcpProxy;
  /** What the deterministic engines have done, over all processes and restarts. */
  readonly journal: EngineJournal;
  query<Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Resolves with all rows when none is open; rejects naming the open ones after `withinMs`. */
  closedJobs(withinMs?: number): Promise<JobRow[]>;
  pid(name: PlatformProcess): number;
  /** The process of a model's host now, as the worker logged it. */
  hostPid(modelId: string): number;
  /** Sends a signal (SIGKILL by default) and waits for the process to end. */
  kill(name: PlatformProcess, signal?: NodeJS.Signals): Promise<{ code: number | null }>;
  /** Sends a signal that ends nothing: SIGSTOP, SIGCONT. */
  signal(name: PlatformProcess, signal: NodeJS.Signals): void;
  /** Starts a process that was killed. */
  start(name: PlatformProcess): Promise<void>;
  /** Where a process answers health and metrics, as it logged it. */
  operationsUrl(name: PlatformProcess): string;
  /** Resolves when every model is online. */
  untilOnline(): Promise<void>;
  /** What the processes logged; for a failing test. */
  log(): string;
  stop(): Promise<void>;
}

/** The harness runs as source in tests and compiled in benches. */
const isCompiled = import.meta.url.includes('/dist/test/harness/');
const distFolder = fileURLToPath(new URL(isCompiled ? '../../' : '../../dist/', import.meta.url));

const entries: Record<PlatformRole, Record<'deterministic' | 'text', string>> = {
  api: { deterministic: 'apps/api/src/main.js', text: 'apps/api/src/main.js' },
  worker: { deterministic: 'test/harness/worker-main.js', text: 'apps/worker/src/main.js' },
  ops: { deterministic: 'apps/ops/src/main.js', text: 'apps/ops/src/main.js' },
};

const roles: PlatformRole[] = ['ops', 'worker', 'api'];

function roleOf(name: PlatformProcess): PlatformRole {
  return name.split('-')[0] as PlatformRole;
}

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
  readonly secretKey = randomBytes(32).toString('hex');
  readonly journal: EngineJournal;
  home = '';
  private readonly ports = new Map<PlatformProcess, number>();
  private readonly healthPorts = new Map<PlatformProcess, number>();
  private database: TestDatabase | null = null;
  private redisServer: TestRedis | null = null;
  private postgresServer: TestPostgres | null = null;
  private pool: pg.Pool | null = null;
  private environments: Record<PlatformRole, Record<string, string>> | null = null;
  private modelIds: string[] = [];
  /** Those that callers can see. */
  private listedIds: string[] = [];
  private readonly children = new Map<PlatformProcess, ChildProcess>();
  private readonly lines: string[] = [];
  private readonly wires = new Map<`${PlatformRole} ${WiredStore}`, TcpProxy>();

  constructor(private readonly options: PlatformOptions) {
    this.journal = new EngineJournal();
  }

  get databaseUrl(): string {
    if (this.database === null) throw new Error('the platform is not open');
    return this.database.url;
  }

  get port(): number {
    return this.ports.get('api') ?? 0;
  }

  get origin(): string {
    return this.originOf('api');
  }

  get origins(): string[] {
    return [...this.ports.keys()].map((name) => this.originOf(name));
  }

  private get site(): Site {
    return this.options.site ?? thisMachine;
  }

  private originOf(name: PlatformProcess): string {
    return `http://${this.site.address(name)}:${this.ports.get(name)}`;
  }

  get redis(): TestRedis {
    if (this.redisServer === null) throw new Error('this platform has no Redis');
    return this.redisServer;
  }

  get postgres(): TestPostgres {
    if (this.postgresServer === null) throw new Error('this platform has no PostgreSQL of its own');
    return this.postgresServer;
  }

  wire(role: PlatformRole, store: WiredStore): TcpProxy {
    const wire = this.wires.get(`${role} ${store}`);
    if (wire === undefined) throw new Error(`there is no wire from ${role} to ${store}`);
    return wire;
  }

  get baseUrl(): string {
    return `${this.origin}/api/v1`;
  }

  async open(): Promise<void> {
    this.home = this.options.home ?? (await mkdtemp(join(tmpdir(), 'sluice-home-')));
    await this.journal.open();
    this.database = await this.openDatabase();
    this.pool = new pg.Pool({ connectionString: this.database.url, max: 2 });
    // The pool lets go of its clients before the server has; the one that drops the database then ends them loudly.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    this.pool.on('error', () => undefined);
    if (this.options.transport === 'redis') this.redisServer = await startRedis(this.options.redisArguments, this.site);
    for (const name of this.names('api')) this.ports.set(name, await freePort());
    await this.seed(this.database.url);
    this.environments = await this.environmentOf(this.database.url);
    await Promise.all(roles.flatMap((role) => this.names(role)).map((name) => this.start(name)));
    await this.untilOnline();
  }

  private names(role: PlatformRole): PlatformProcess[] {
    const count = this.options.replicas?.[role] ?? 1;
    return Array.from({ length: count }, (_, index) => (index === 0 ? role : (`${role}-${index + 1}` as const)));
  }

  private async openDatabase(): Promise<TestDatabase> {
    if (!this.options.ownPostgres) return await createMigratedDatabase();
    this.postgresServer = await startPostgres({}, this.site);
    return await createDatabaseOn(this.postgresServer.url);
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

  pid(name: PlatformProcess): number {
    const pid = this.children.get(name)?.pid;
    if (pid === undefined) throw new Error(`the ${name} does not run`);
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

  operationsUrl(name: PlatformProcess): string {
    const port = this.ports.get(name) ?? this.healthPorts.get(name);
    if (port === undefined) throw new Error(`the ${name} has told no port`);
    return `http://${this.site.address(name)}:${port}`;
  }

  signal(name: PlatformProcess, signal: NodeJS.Signals): void {
    process.kill(this.pid(name), signal);
  }

  async start(name: PlatformProcess): Promise<void> {
    const role = roleOf(name);
    const listening = role === 'api' && { HOST: this.site.address(name), PORT: String(this.ports.get(name)) };
    const env = { ...this.environments?.[role], ...listening };
    const entry = join(distFolder, entries[role][this.options.engine ?? 'deterministic']);
    const [command = '', ...args] = this.site.command(name, [process.execPath, entry]);
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH ?? '', ...env, ...this.options.processEnv?.[name] },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.children.set(name, child);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const [, port] = /answers health and metrics on port (\d+)/.exec(text) ?? [];
        if (port !== undefined) this.healthPorts.set(name, Number(port));
        this.note(`${name}: ${text}`);
      });
    }
    child.once('exit', (code, signal) => this.note(`${name} ended with ${String(code ?? signal)}`));
    if (role !== 'api') return;
    await this.until(`the ${name} is ready`, async () => (await this.get(name, '/health/ready')).ok);
  }

  async kill(name: PlatformProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<{ code: number | null }> {
    const child = this.children.get(name);
    this.children.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return { code: null };
    const ended = new Promise<{ code: number | null }>((resolve) => child.once('exit', (code) => resolve({ code })));
    child.kill(signal);
    return await ended;
  }

  async untilOnline(): Promise<void> {
    const living = this.names('api').filter((name) => this.children.has(name));
    await this.until('every model is online', async () => {
      const online = await Promise.all(living.map((name) => this.onlineModels(name)));
      return online.every((ids) => this.listedIds.every((id) => ids.includes(id)));
    });
  }

  private async onlineModels(name: PlatformProcess): Promise<string[]> {
    const response = await this.get(name, '/api/v1/models?type=all');
    const { data } = (await response.json()) as { data: { id: string; model_spec: { offline: boolean } }[] };
    return data.filter(({ model_spec: spec }) => !spec.offline).map(({ id }) => id);
  }

  log(): string {
    return this.lines.slice(-300).join('');
  }

  async stop(): Promise<void> {
    await Promise.all([...this.children.keys()].map((name) => this.kill(name, 'SIGKILL')));
    await Promise.all([...this.wires.values()].map((wire) => wire.close()));
    await this.pool?.end();
    if (this.postgresServer === null) await this.database?.drop();
    await this.postgresServer?.close();
    await this.redisServer?.close();
    await this.journal.remove();
    if (this.options.home === undefined && this.home !== '') await rm(this.home, { recursive: true, force: true });
  }

  private note(text: string): void {
    this.options.onLog?.(text);
    this.lines.push(text);
    if (this.lines.length > 2_000) this.lines.splice(0, 1_000);
  }

  private async get(name: PlatformProcess, path: string): Promise<Response> {
    return await fetch(`${this.originOf(name)}${path}`);
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
    const named = installed.filter(({ id }) => !this.options.unnamed?.includes(id));
    this.modelIds = named.map(({ id }) => id);
    this.listedIds = named.filter(({ internal }) => !internal).map(({ id }) => id);
    const prisma = new PrismaService({ url: databaseUrl, poolSize: 2 });
    try {
      await new ModelRegistryService(prisma, noOnlineModels).upsert(installed);
      const { adminKey, inferenceKey } = this;
      const first = await new AccountsService(prisma).bootstrap({ adminKey, inferenceKey });
      const { creditNano = nanosPerUsd * 1_000n, limits = 'unbounded' } = this.options;
      if (first !== null && limits === 'unbounded') await unboundLimits(prisma, first.accountId);
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
    const { secretKey } = this;
    const queueUrl = this.redisServer?.url ?? (await ensureQueueRole({ url: databaseUrl, secretKey }));
    const queue = async (role: PlatformRole) => ({ SLUICE_QUEUE_URL: await this.wired(role, 'queue', queueUrl) });
    const database = async (role: PlatformRole) => ({ DATABASE_URL: await this.wired(role, 'database', databaseUrl) });
    const common = { SLUICE_HOME: this.home, LOG_LEVEL: 'info', ...this.options.env };
    const abuse: Record<string, string> = this.options.limits === 'contract' ? {} : { SLUICE_ABUSE_FAILURES: '0' };
    const truth = { ...abuse, ...common, SLUICE_SECRET_KEY: secretKey };
    return {
      api: { ...truth, ...(await queue('api')), ...(await database('api')) },
      worker: {
        ...(await queue('worker')),
        ...common,
        SLUICE_MODELS: this.modelIds.join(',') || 'none',
        SLUICE_WORKER_PORT: '0',
        SLUICE_TEST_JOURNAL: this.journal.path,
      },
      ops: { ...truth, ...(await queue('ops')), ...(await database('ops')), SLUICE_OPS_PORT: '0' },
    };
  }

  /** The url of a store as a role is told it. */
  private async wired(role: PlatformRole, store: WiredStore, url: string): Promise<string> {
    if (!this.options.wires) return url;
    const wire = await TcpProxy.to(url);
    this.wires.set(`${role} ${store}`, wire);
    return wire.url;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
