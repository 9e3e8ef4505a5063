import type { BackendFactory, IQueueBackend, JobJson, WorkerOptions } from 'bullmq';
import type { FairPlace, FairTurn } from './fair-turn.js';
import type { MessageBus } from './message-bus.js';

/** BullMQ requires a connection option; the stores bring their own connections, so ours is always empty. */
export type StoreConnection = Record<string, never>;

/** What a reply channel needs from a store: ordered delivery of text messages to one address. */
export interface ReplyLink {
  /**
   * Delivers messages to an address, in order. Resolves once the store has them, or the address has no reader. Rejects
   * when it is unknown whether it has them; the caller then sends them again.
   */
  send(address: string, messages: string[]): Promise<void>;
  /** Starts reading an address of this process. `onLost` reports that messages may be missing. */
  receive(address: string, handlers: ReplyHandlers): Promise<{ close(): Promise<void> }>;
}

/** A BullMQ queue, or a worker of one. */
export interface DelayedQueue {
  readonly name: string;
  readonly backend: Pick<IQueueBackend, 'promote' | 'moveToActive' | 'moveJobFromActiveToWait'>;
}

/** A worker of BullMQ. */
export interface ClaimingWorker extends DelayedQueue {
  readonly opts: WorkerOptions<StoreConnection>;
}

export interface JobClaim {
  readonly jobId: string;
  /** Token of the lock that the worker takes. */
  readonly token: string;
}

/** A job as BullMQ's backends return it to a worker. */
export interface FetchedJob {
  readonly id: string;
  readonly data: JobJson;
}

/** A job that is only added, by a process that may not read its queue. */
export interface AppendedJob {
  readonly id: string;
  readonly name: string;
  readonly data: object;
  readonly opts: { readonly attempts: number } & Record<string, unknown>;
}

export interface ReplyHandlers {
  onMessage(text: string): void;
  onLost(): void;
}

/** Locks that a worker holds on jobs of one queue. */
export interface HeldLocks {
  readonly jobIds: readonly string[];
  readonly tokens: readonly string[];
  readonly lockMs: number;
}

export interface StoreOptions {
  readonly url: string;
  readonly namespace: string;
  readonly clientName: string;
  /** The field of `TransportOptions`. */
  readonly guardsPools?: boolean;
  readonly warn: (message: string, error?: unknown) => void;
  /** Watches for the end of an outage; closed with the transport. */
  readonly outage?: { close(): void };
}

export interface StoreMemory {
  readonly usedBytes: number;
  /** The limit beyond which the server refuses writes. */
  readonly limitBytes: number;
}

/** One server, Redis or Postgres, behind the queue: connections, BullMQ's backend, bus and reply channels. */
export interface Store {
  readonly kind: 'redis' | 'postgres';
  /** Prefix of BullMQ's keys; the Postgres backend ignores it and uses its schema. */
  readonly prefix: string;
  readonly backendFactory: BackendFactory<IQueueBackend, StoreConnection>;
  readonly bus: MessageBus;
  readonly replyLink: ReplyLink;
  /**
   * Releases a delayed job and fetches the next one for the worker before another worker can. That is nearly always the
   * released job. Resolves to null when there was nothing to fetch.
   */
  claim(worker: ClaimingWorker, claim: JobClaim): Promise<FetchedJob | null>;
  /** Moves a delayed job to the end of the waiting ones, in one atomic step; false when it is no longer delayed. */
  release(queue: DelayedQueue, jobId: string): Promise<boolean>;
  /**
   * Moves a running job to the front of the waiting ones of its priority; it counts as never taken. Rejects when
   * `token` no longer holds its lock.
   */
  handBack(worker: ClaimingWorker, job: JobClaim): Promise<void>;
  /**
   * Adds a job without reading its queue, as the roles of pools require. Null where BullMQ's `add` reads nothing
   * either.
   */
  readonly append: ((queue: string, job: AppendedJob) => Promise<void>) | null;
  /** Gives jobs of one queue their places in its fair order, in one atomic step. */
  assignPlaces(queue: string, turns: readonly FairTurn[]): Promise<FairPlace[]>;
  /** Counts the waiting jobs that would run before the next one of the account. */
  countAhead(queue: string, account: string): Promise<number>;
  /**
   * Counts, by role, the sessions of pools that were ended because they held up others. Empty without `guardsPools`.
   */
  readonly poolSessions: ReadonlyMap<string, { readonly ended: number; readonly lockedOut: number }>;
  /** Memory of the server, as last measured. Null when the server has no limit of its own, or none is known yet. */
  readonly memory: StoreMemory | null;
  /** False while the connection for requests is known to be down. */
  isReachable(): boolean;
  /** Drops the connections over which workers take jobs; pending commands are sent again over the next ones. */
  renewWork(): void;
  /**
   * Throws `SERVICE_UNAVAILABLE` while the store is so full that its remaining memory is reserved for running jobs.
   * Uses the last known state.
   */
  requireRoom(): void;
  /**
   * Renews locks in another way when `error` says that the store had no memory to renew them. Resolves to the ids of
   * jobs whose lock is no longer held, or to null for any other error.
   */
  keepLocks(queue: string, locks: HeldLocks, error: unknown): Promise<string[] | null>;
  /** Rejects when the store does not respond, could not accept new work or may lose it. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
