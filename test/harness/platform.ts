import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { deriveKey, nanosPerUsd } from '#common';
import { ModelRegistryService, ModelRepository, noOnlineModels } from '#model-registry';
import { ensureQueueRole } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { freePort } from './free-port.js';
import { EngineJournal } from './engine-journal.js';
import type { PlatformOptions, PlatformProcess, PlatformRole, WiredStore } from './platform-options.js';
import { PlatformProcesses, roleOf } from './platform-processes.js';
import { poolEnvironment } from './pool-credentials.js';
import { createDatabaseOn, createMigratedDatabase, startPostgres } from './postgres.js';
import type { TestDatabase, TestPostgres } from './postgres.js';
import { startRedis, type TestRedis } from './redis.js';
import { type Site, thisMachine } from './site.js';
import { TcpProxy } from './tcp-proxy.js';
import { installTinyModel } from './tiny-models.js';
import { unboundLimits } from './unbound-limits.js';

export type { PlatformOptions, PlatformProcess, PlatformRole, WiredStore } from './platform-options.js';

/** One job row as read by tests. */
export interface JobRow {
  request_id: string;
  state: string;
  error_code: string | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
}

/** The whole platform in real processes, with its own home and database. */
export interface Platform {
  /** `http://127.0.0.1:<port>/api/v1`. */
  readonly baseUrl: string;
  /** `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly port: number;
  /** Base URLs of all API replicas, the first one first. */
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
  /** The server of `ownPostgres`; throws without it. */
  readonly postgres: TestPostgres;
  /** Connection between a role and its queue store or database; throws without `wires`. Workers have no database. */
  wire(role: PlatformRole, store: WiredStore): TcpProxy;
  /** Records of the deterministic engines, over all processes and restarts. */
  readonly journal: EngineJournal;
  query<Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Resolves to all rows when none is open; rejects naming the open ones after `withinMs`. */
  closedJobs(withinMs?: number): Promise<JobRow[]>;
  pid(name: PlatformProcess): number;
  /** Current pid of a model host, as logged by the worker. */
  hostPid(modelId: string): number;
  /** Sends a signal (default: SIGKILL) and waits for the process to exit. */
  kill(name: PlatformProcess, signal?: NodeJS.Signals): Promise<{ code: number | null }>;
  /** Sends a non-terminating signal: SIGSTOP, SIGCONT. */
  signal(name: PlatformProcess, signal: NodeJS.Signals): void;
  /** Starts a process that was killed, of this project or of other compiled code. */
  start(name: PlatformProcess, dist?: string): Promise<void>;
  /** Health and metrics URL of a process, as logged. */
  operationsUrl(name: PlatformProcess): string;
  /** Resolves when every model is online. */
  untilOnline(): Promise<void>;
  /** Log output of the processes, for a failing test. */
  log(): string;
  stop(): Promise<void>;
}

const roles: PlatformRole[] = ['ops', 'worker', 'api'];

/** Start timeout of processes and models: a shared machine may take a minute. */
const defaultStartWithinMs = 150_000;

/** Starts everything and resolves when every model is online. Run `npm run build` first: the processes run `dist`. */
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
  readonly journal = new EngineJournal();
  home = '';
  private readonly processes: PlatformProcesses;
  private readonly ports = new Map<PlatformProcess, number>();
  private database: TestDatabase | null = null;
  private redisServer: TestRedis | null = null;
  private postgresServer: TestPostgres | null = null;
  private pool: pg.Pool | null = null;
  private environments: Record<PlatformRole, Record<string, string>> | null = null;
  private readonly poolEnvironments = new Map<PlatformProcess, Record<string, string>>();
  private modelIds: string[] = [];
  /** Models that clients can see. */
  private listedIds: string[] = [];
  private readonly wires = new Map<`${PlatformRole} ${WiredStore}`, TcpProxy>();

  constructor(private readonly options: PlatformOptions) {
    this.processes = new PlatformProcesses({ ...options, site: this.site });
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
    // The pool releases its clients before the server does; dropping the database then terminates their connections
    // with an error.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
    this.pool.on('error', () => undefined);
    if (this.options.transport === 'redis') this.redisServer = await startRedis(this.options.redisArguments, this.site);
    for (const name of this.names('api')) this.ports.set(name, await freePort());
    await this.seed(this.database.url);
    this.environments = await this.environmentOf(this.database.url);
    await this.createPools(this.environments.ops);
    await Promise.all(roles.flatMap((role) => this.names(role)).map((name) => this.start(name, this.options.dist)));
    await this.untilOnline();
  }

  private async createPools(env: Record<string, string>): Promise<void> {
    for (const [name, { workers, models }] of Object.entries(this.options.pools ?? {})) {
      const environment = await poolEnvironment({ name, models }, env, this.options.dist);
      for (const worker of workers) this.poolEnvironments.set(worker, environment);
    }
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
    return this.processes.pid(name);
  }

  hostPid(modelId: string): number {
    return this.processes.hostPid(modelId);
  }

  operationsUrl(name: PlatformProcess): string {
    const port = this.ports.get(name) ?? this.processes.healthPort(name);
    if (port === undefined) throw new Error(`the ${name} has logged no port`);
    return `http://${this.site.address(name)}:${port}`;
  }

  signal(name: PlatformProcess, signal: NodeJS.Signals): void {
    this.processes.signal(name, signal);
  }

  async start(name: PlatformProcess, dist?: string): Promise<void> {
    const role = roleOf(name);
    const listening = role === 'api' && {
      HOST: this.site.address(name),
      PORT: String(this.ports.get(name)),
      SLUICE_API_HEALTH_PORT: '0',
      SLUICE_API_PUBLIC_HEALTH: 'true',
    };
    const pool = this.poolEnvironments.get(name);
    const env = { ...this.environments?.[role], ...listening, ...pool, ...this.options.processEnv?.[name] };
    this.processes.start(name, env, dist);
    if (role !== 'api') return;
    await this.until(`the ${name} is ready`, async () => (await this.get(name, '/health/ready')).ok);
  }

  async kill(name: PlatformProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<{ code: number | null }> {
    return await this.processes.kill(name, signal);
  }

  async untilOnline(): Promise<void> {
    const living = this.names('api').filter((name) => this.processes.has(name));
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
    return this.processes.log();
  }

  async stop(): Promise<void> {
    await this.processes.killAll();
    await Promise.all([...this.wires.values()].map((wire) => wire.close()));
    await this.pool?.end();
    if (this.postgresServer === null) await this.database?.drop();
    await this.postgresServer?.close();
    await this.redisServer?.close();
    await this.journal.remove();
    if (this.options.home === undefined && this.home !== '') await rm(this.home, { recursive: true, force: true });
  }

  private async get(name: PlatformProcess, path: string): Promise<Response> {
    return await fetch(`${this.originOf(name)}${path}`);
  }

  private async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const { startWithinMs = defaultStartWithinMs } = this.options;
    const deadline = performance.now() + startWithinMs;
    while (!(await holds().catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`timed out after ${startWithinMs} ms: ${what}`);
      const ended = this.processes.ended();
      if (ended !== null) throw new Error(`the ${ended} ended while waiting: ${what}`);
      await pause(50);
    }
  }

  private async seed(databaseUrl: string): Promise<void> {
    const { manifests, models = [{ id: 'tiny-llama' }] } = this.options;
    const installed = manifests ?? (await Promise.all(models.map((model) => installTinyModel(this.home, model))));
    const named = installed.filter(({ id }) => !this.options.unnamed?.includes(id));
    const ofPools = Object.values(this.options.pools ?? {}).flatMap(({ models: ids }) => ids);
    this.modelIds = named.map(({ id }) => id).filter((id) => !ofPools.includes(id));
    this.listedIds = named.filter(({ internal }) => !internal).map(({ id }) => id);
    const prisma = new PrismaService({ url: databaseUrl, poolSize: 2 });
    try {
      await new ModelRegistryService(new ModelRepository(prisma), noOnlineModels).upsert(installed);
      const { adminKey, inferenceKey } = this;
      const first = await new AccountsService(new AccountsRepository(prisma)).bootstrap({ adminKey, inferenceKey });
      const { creditNano = nanosPerUsd * 1_000n, limits = 'unbounded' } = this.options;
      if (first !== null && limits === 'unbounded') await unboundLimits(prisma, first.accountId);
      if (first !== null && creditNano > 0n) {
        await createLedger(prisma).credit('grant', {
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
    const sealKey = deriveKey(secretKey, 'queue payloads').toString('hex');
    const queue = async (role: PlatformRole) => ({
      SLUICE_QUEUE_URL: await this.wired(role, 'queue', queueUrl),
      SLUICE_QUEUE_KEY: sealKey,
    });
    const database = async (role: PlatformRole) => ({ DATABASE_URL: await this.wired(role, 'database', databaseUrl) });
    const common = { SLUICE_HOME: this.home, LOG_LEVEL: 'info', ...this.options.env };
    const abuse: Record<string, string> = this.options.limits === 'contract' ? {} : { SLUICE_ABUSE_FAILURES: '0' };
    // As in the images.
    const allocator = {
      MALLOC_ARENA_MAX: '2',
      MALLOC_MMAP_THRESHOLD_: '65536',
      MALLOC_TRIM_THRESHOLD_: '65536',
    };
    const truth = { ...abuse, ...common, SLUICE_SECRET_KEY: secretKey };
    return {
      api: { ...allocator, ...truth, ...(await queue('api')), ...(await database('api')) },
      worker: {
        ...allocator,
        ...(await queue('worker')),
        ...common,
        SLUICE_MODELS: this.modelIds.join(',') || 'none',
        SLUICE_WORKER_PORT: '0',
        SLUICE_TEST_JOURNAL: this.journal.path,
      },
      ops: { ...truth, ...(await queue('ops')), ...(await database('ops')), SLUICE_OPS_PORT: '0' },
    };
  }

  /** URL of a store for a role. */
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
