import type { BackendFactory, IQueueBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { PlatformError } from '#common';
import { createRedisBackend } from '../../connections/bull-library.js';
import { fetchedJob, storeCall, storeFull } from '../../contract/store-call.js';
import type {
  ClaimingWorker,
  DelayedQueue,
  FetchedJob,
  HeldLocks,
  JobClaim,
  ReplyLink,
  Store,
  StoreConnection,
  StoreMemory,
  StoreOptions,
} from '../../contract/store.js';
import { RedisBus } from './redis-bus.js';
import { assignRedisPlaces, countRedisAhead } from './redis-fair-places.js';
import {
  checkServer,
  connectClient,
  evictionProblem,
  failFastClient,
  listeningClient,
  waitingClient,
  readerClient,
  readServerFacts,
  type RedisServerFacts,
} from '../../connections/redis-clients.js';
import { poolOfUrl } from '../../trust/pools/pool-role.js';
import { RedisReplyLink } from './redis-reply-link.js';
import { RedisMemory } from './redis-memory.js';
import type { FairPlace, FairTurn } from '../../contract/fair-turn.js';
import type { MessageBus } from '../../contract/message-bus.js';

/**
 * Renews locks without writing anything that a Redis at its maxmemory would refuse: BullMQ sets each lock again, this
 * only extends its expiry. KEYS: the set of jobs that may have stalled, then one lock for each id. ARGV: ms, ids,
 * tokens.
 */
const renewLocksScript = `
  local lost = {}
  local count = #KEYS - 1
  for i = 1, count do
    local id = ARGV[1 + i]
    if redis.call('GET', KEYS[1 + i]) == ARGV[1 + count + i] then
      redis.call('PEXPIRE', KEYS[1 + i], ARGV[1])
      redis.call('SREM', KEYS[1], id)
    else
      lost[#lost + 1] = id
    end
  end
  return lost`;

/**
 * Renews locks. Resolves to the ids of jobs whose lock belongs to another worker or is gone. `root` is
 * `<prefix>:<queue>`, as in BullMQ's keys.
 */
async function keepLocks(client: Redis, root: string, { jobIds, tokens, lockMs }: HeldLocks): Promise<string[]> {
  const keys = [`${root}:stalled`, ...jobIds.map((id) => `${root}:${id}:lock`)];
  return (await client.eval(renewLocksScript, keys.length, ...keys, lockMs, ...jobIds, ...tokens)) as string[];
}

/** Recognizes the error of a Redis that has reached its maxmemory and evicts nothing. */
function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /\bOOM command not allowed/.test(error.message);
}

/** Timeout of the first connection, in ms. */
const startTimeoutMs = 10_000;

/** Interval between checks of the server's memory, in ms. */
const measureEveryMs = 1_000;

/** The store on Redis: BullMQ on shared connections, PUBLISH for the bus, one stream per reply channel. */
export class RedisStore implements Store {
  readonly kind = 'redis';
  readonly append = null;
  readonly bus: MessageBus;
  readonly replyLink: ReplyLink;
  private readonly readers: Redis[] = [];
  private readonly room = new RedisMemory();
  private readonly measuring: NodeJS.Timeout;

  private constructor(
    readonly prefix: string,
    private readonly requests: Redis,
    private readonly work: Redis,
    private readonly subscriber: Redis,
    openReader: () => Redis,
    { url, warn }: Pick<StoreOptions, 'url' | 'warn'>,
  ) {
    this.bus = new RedisBus(requests, subscriber, { namespace: prefix, pool: poolOfUrl(url, prefix), warn });
    const reader = () => {
      const client = openReader();
      this.readers.push(client);
      return client;
    };
    this.replyLink = new RedisReplyLink(requests, reader, prefix);
    // An unavailable server is reported by other signals.
    this.measuring = setInterval(() => void this.measure().catch(() => undefined), measureEveryMs);
    this.measuring.unref();
  }

  static async open(options: StoreOptions): Promise<RedisStore> {
    const { url, namespace, clientName, warn } = options;
    const clients = {
      requests: failFastClient(url, clientName),
      work: waitingClient(url, `${clientName}-work`),
      subscriber: listeningClient(url, `${clientName}-bus`),
    };
    const { requests, work, subscriber } = clients;
    const report = (client: Redis) =>
      client.on('error', (error) => warn('A connection to Redis reported an error.', error));
    const openReader = () => {
      const client = readerClient(url, `${clientName}-replies`);
      report(client);
      return client;
    };
    try {
      for (const client of Object.values(clients)) {
        report(client);
        await connectClient(client, startTimeoutMs);
      }
      checkServer(await readServerFacts(requests), (message) => warn(message));
    } catch (error) {
      for (const client of Object.values(clients)) client.disconnect();
      throw error;
    }
    return new RedisStore(namespace, requests, work, subscriber, openReader, options);
  }

  // Producers share the connection that fails fast. Workers share the one that waits, in addition to a blocking one of
  // their own.
  readonly backendFactory: BackendFactory<IQueueBackend, StoreConnection> = (name, options, factoryOptions) => {
    const connection = factoryOptions?.withBlockingConnection ? this.work : this.requests;
    return createRedisBackend(name, { ...options, connection }, factoryOptions);
  };

  async claim(worker: ClaimingWorker, { jobId, token }: JobClaim): Promise<FetchedJob | null> {
    // Both commands leave in one write over one connection, so the server runs the second right after the first.
    const [, next] = await Promise.all([
      this.release(worker, jobId),
      worker.backend.moveToActive(token, worker.opts.name),
    ]);
    return fetchedJob(next);
  }

  async release({ backend }: DelayedQueue, jobId: string): Promise<boolean> {
    // BullMQ's script moves the job, or refuses when the job is not delayed.
    return await backend.promote(jobId).then(
      () => true,
      () => false,
    );
  }

  async handBack({ backend }: ClaimingWorker, { jobId, token }: JobClaim): Promise<void> {
    await backend.moveJobFromActiveToWait(jobId, token);
  }

  assignPlaces(queue: string, turns: readonly FairTurn[]): Promise<FairPlace[]> {
    return assignRedisPlaces(this.requests, `${this.prefix}:${queue}`, turns);
  }

  countAhead(queue: string, account: string): Promise<number> {
    return countRedisAhead(this.requests, `${this.prefix}:${queue}`, account);
  }

  /** Redis needs no guard: no command of a pool holds up others for long. */
  readonly poolSessions = new Map<never, never>();

  get memory(): StoreMemory | null {
    return this.room.limited;
  }

  isReachable(): boolean {
    return this.requests.status === 'ready';
  }

  renewWork(): void {
    // Connections are torn down and not ended, because the other side of a stalled one may never respond.
    if (this.work.status === 'ready' || this.work.status === 'connect') this.work.stream.destroy();
  }

  async keepLocks(queue: string, locks: HeldLocks, error: unknown): Promise<string[] | null> {
    return isOutOfMemory(error) ? await keepLocks(this.work, `${this.prefix}:${queue}`, locks) : null;
  }

  requireRoom(): void {
    if (this.room.problem() !== null) throw storeFull();
  }

  async ping(): Promise<void> {
    const facts = await storeCall(() => this.measure());
    const problem = this.room.problem() ?? evictionProblem(facts);
    if (problem !== null) throw new PlatformError('SERVICE_UNAVAILABLE', problem);
  }

  private async measure(): Promise<RedisServerFacts> {
    const facts = await readServerFacts(this.requests);
    this.room.note(facts);
    return facts;
  }

  async close(): Promise<void> {
    clearInterval(this.measuring);
    for (const client of [this.requests, this.work, this.subscriber, ...this.readers]) client.disconnect();
  }
}
