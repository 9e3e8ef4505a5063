import type { BackendFactory, IQueueBackend } from 'bullmq';
import { PostgresQueueBackend } from '../../connections/bull-library.js';
import { backOffMs, fetchedJob, pause, storeCall, storeUnavailable } from '../../contract/store-call.js';
import type {
  AppendedJob,
  ClaimingWorker,
  DelayedQueue,
  FetchedJob,
  JobClaim,
  ReplyLink,
  Store,
  StoreConnection,
  StoreOptions,
} from '../../contract/store.js';
import { appendJob, handBackJob, releaseDelayedJob } from './job-statements.js';
import { PostgresBus } from './postgres-bus.js';
import { assignPostgresPlaces, countPostgresAhead } from './postgres-fair-places.js';
import { PostgresReplyLink } from './postgres-reply-link.js';
import { type PoolSessionCounts, PoolSessionGuard } from '../../trust/pools/pool-session-guard.js';
import { isLostConnection, queueSchema, SharedPostgresConnection } from '../../connections/postgres-connection.js';
import type { FairPlace, FairTurn } from '../../contract/fair-turn.js';
import type { MessageBus } from '../../contract/message-bus.js';

/** Timeout of the first connection, in ms. */
const startTimeoutMs = 10_000;

/** The store on Postgres: BullMQ's tables in a schema of their own, LISTEN and NOTIFY for bus and reply channels. */
export class PostgresStore implements Store {
  readonly kind = 'postgres';
  readonly memory = null;
  readonly bus: MessageBus;
  readonly replyLink: ReplyLink;
  private readonly notifications: PostgresBus;

  private constructor(
    readonly prefix: string,
    private readonly connection: SharedPostgresConnection,
    private readonly guard: PoolSessionGuard | null,
  ) {
    this.notifications = new PostgresBus(connection, prefix);
    this.bus = this.notifications;
    this.replyLink = new PostgresReplyLink(this.notifications);
  }

  static async open({ url, namespace, clientName, warn, guardsPools = false }: StoreOptions): Promise<PostgresStore> {
    // The schema is always qualified: one named like a role comes first in that role's search path, before our own
    // tables.
    const connection = new SharedPostgresConnection({ url, schema: queueSchema(namespace), clientName });
    connection.on('error', (error: Error) => warn('A connection to Postgres reported an error.', error));
    try {
      await migrateWhenReachable(connection);
      await connection.waitUntilReady();
    } catch (error) {
      await connection.shutDown();
      throw error;
    }
    const guard = guardsPools ? new PoolSessionGuard({ url, schema: queueSchema(namespace), warn }) : null;
    guard?.start();
    return new PostgresStore(namespace, connection, guard);
  }

  readonly backendFactory: BackendFactory<IQueueBackend, StoreConnection> = (name, options) =>
    new PostgresQueueBackend(this.connection, name, { ...options, connection: this.connection.pool }, true);

  async claim({ name, opts }: ClaimingWorker, { jobId, token }: JobClaim): Promise<FetchedJob | null> {
    // One transaction, so that no other worker sees the job in between.
    return await this.connection.transaction(async (connection) => {
      if (!(await releaseDelayedJob(connection.pool, name, { jobId, isAnnounced: false }))) return null;
      const backend = new PostgresQueueBackend(connection, name, { ...opts, connection: connection.pool }, false);
      return fetchedJob(await backend.moveToActive(token, opts.name));
    });
  }

  release({ name }: DelayedQueue, jobId: string): Promise<boolean> {
    return releaseDelayedJob(this.connection.pool, name, { jobId, isAnnounced: true });
  }

  handBack({ name }: ClaimingWorker, job: JobClaim): Promise<void> {
    return handBackJob(this.connection.pool, name, job);
  }

  assignPlaces(queue: string, turns: readonly FairTurn[]): Promise<FairPlace[]> {
    return assignPostgresPlaces(this.connection, queue, turns);
  }

  countAhead(queue: string, account: string): Promise<number> {
    return countPostgresAhead(this.connection, queue, account);
  }

  readonly append = (queue: string, job: AppendedJob): Promise<void> => appendJob(this.connection.pool, queue, job);

  get poolSessions(): ReadonlyMap<string, PoolSessionCounts> {
    return this.guard?.counts ?? new Map<string, PoolSessionCounts>();
  }

  isReachable(): boolean {
    return this.bus.isConnected();
  }

  renewWork(): void {
    this.connection.renewListener();
  }

  requireRoom(): void {
    // A server with a full disk responds with an error by itself.
  }

  async keepLocks(): Promise<string[] | null> {
    return null;
  }

  async ping(): Promise<void> {
    await storeCall(() => this.connection.pool.query('SELECT 1'));
  }

  async close(): Promise<void> {
    this.notifications.close();
    await this.guard?.close();
    await this.connection.shutDown();
  }
}

async function migrateWhenReachable(connection: SharedPostgresConnection): Promise<void> {
  const giveUpAt = performance.now() + startTimeoutMs;
  for (let failures = 1; ; failures += 1) {
    try {
      return await connection.migrate();
    } catch (error) {
      if (!isLostConnection(error)) throw error;
      if (performance.now() > giveUpAt) throw storeUnavailable(error);
      await pause(backOffMs(failures));
    }
  }
}
