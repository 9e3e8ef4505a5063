import type { PlatformError, JobUsage, WireError } from '#common';
import type { PlacementBus } from './desired-placements.js';
import type { JobDefinition, JobEnvelope } from './job-definition.js';
import type { ResultProof } from './result-ticket.js';
import type { ClusterMembership } from './heartbeat.js';
import type { HostQuestions } from './host-questions.js';
import type { FairTurn } from './fair-turn.js';
import type { WorkerControl } from './worker-control.js';

/*
 * The queue as interfaces, together with the other files of this folder. One transport implements them over two stores,
 * Redis and Postgres, and one conformance suite (`transport.conformance.ts`) proves both. Nothing outside this library
 * imports bullmq.
 */

/** What a process states to open its transport. */
export interface TransportOptions {
  url: string;
  /** Prefix of every key, channel and schema, so that two installations can share a server. */
  namespace: string;
  /** Name of this process in server-side lists and logs: `api`, `worker`, `ops`. */
  clientName: string;
  /**
   * Keys of 64 hex digits for payloads, replies and messages on the bus: the first seals and signs, all open and
   * verify. `<model>:<key>` opens only the jobs of one model; `@bus:<key>` verifies what api and ops sign. Without
   * keys, everything is sent in clear text.
   */
  sealKeys?: readonly string[];
  /** Receives warnings for operators: lost connections, a server set up to lose jobs. Default: the log. */
  warn?: (message: string, error?: unknown) => void;
  /** Timing of heartbeats; tests shorten it. */
  membership?: { heartbeatMs: number; lostAfterMs: number };
  /**
   * How long a process may be blocked before another one takes over its results, in ms; default 10 s, tests shorten it.
   */
  resultLockMs?: number;
  /** Bytes one reply stream buffers for a slow reader; default 4 MiB. */
  replyBufferBytes?: number;
  /** True when this process ends sessions of pools that hold up others, in a store that cannot limit them. */
  guardsPools?: boolean;
  /** Sends jobs with equal route keys to the same worker; set by producers. Without it, no job is sticky. */
  affinity?: AffinityOptions;
}

export interface AffinityOptions {
  /** How long a job waits for its worker, in ms, at most 1,000; then any worker may take it. */
  stickyMs: number;
  /** Called for every job with a route key. Must not throw. */
  onDecision?: (decision: AffinityDecision) => void;
}

/**
 * `sticky`, or why the job is not: fewer than two workers serve the model (`alone`), or none has room below its share
 * (`full`). `spare` comes in addition when a worker is to run the job in a spare slot.
 */
export interface AffinityDecision {
  modality: string;
  modelId: string;
  decision: 'sticky' | 'alone' | 'full' | 'spare';
}

/** An abstract class rather than an interface, because it is also the injection token. */
export abstract class QueueTransport {
  abstract readonly kind: 'redis' | 'postgres';
  abstract readonly producer: JobProducer;
  abstract readonly replies: ReplyChannel;
  abstract readonly cancelBus: CancelBus;
  abstract readonly membership: ClusterMembership;
  abstract readonly progress: ProgressBus;
  abstract readonly placements: PlacementBus;
  abstract readonly workerControl: WorkerControl;
  abstract readonly hosts: HostQuestions;
  abstract readonly results: JobResultQueue;
  /**
   * Counts the operations on queues that failed since the start, or were not tried because the store was unavailable.
   */
  abstract readonly failedCalls: number;
  /**
   * Counts, by reason, the bus messages that were dropped since the start: forged, replayed, or beyond what their
   * sender may say.
   */
  abstract readonly refusedMessages: ReadonlyMap<string, number>;
  /**
   * Counts, by role, how often sessions of a pool were ended since the start because they held up others, and how often
   * the pool was locked out. Empty without `guardsPools`, or when the store needs no guard.
   */
  abstract readonly poolSessions: ReadonlyMap<string, { readonly ended: number; readonly lockedOut: number }>;
  /** Memory of a Redis with a limit, in bytes, as last measured; null otherwise. */
  abstract readonly storeMemory: { readonly usedBytes: number; readonly limitBytes: number } | null;
  /** False when this process has keys, but none of this model: its jobs cannot be opened here and fail. */
  abstract hasKeyOf(modelId: string): boolean;
  /** Starts taking jobs of one model. `handler` rejects with a `PlatformError` to fail the job. */
  abstract consume<Payload extends object, Result extends object>(
    options: ConsumerOptions<Payload, Result>,
  ): Promise<JobConsumer>;
  /**
   * Resolves when the store responds and accepts work; rejects with its error, a `PlatformError` where it says why. For
   * readiness.
   */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}

export interface JobProducer {
  /**
   * Throws `SERVICE_UNAVAILABLE` while the store's remaining memory is reserved for running jobs; called before
   * anything is written.
   */
  requireRoom(): void;
  /** Adds the job; a repeated request id (same attempt) adds nothing. */
  enqueue(definition: JobDefinition<object, object>, envelope: JobEnvelope, options?: EnqueueOptions): Promise<void>;
  /** Adds many jobs of one queue in one round trip. */
  enqueueBulk(
    definition: JobDefinition<object, object>,
    envelopes: JobEnvelope[],
    options?: BulkOptions,
  ): Promise<void>;
  /** Removes a job that no worker has picked up; false when it is running, finished or unknown. */
  remove(modality: string, modelId: string, requestId: string): Promise<boolean>;
  /** Marks a running job, so that it is dropped as cancelled if it returns to the queue because its worker was lost. */
  withdraw(modality: string, modelId: string, requestId: string): Promise<void>;
  /** True while the queue still holds the job, waiting or running. */
  holds(modality: string, modelId: string, requestId: string): Promise<boolean>;
  counts(modality: string, modelId: string): Promise<QueueCounts>;
  /** Request ids of jobs that no worker has taken, of each state at most `count` from the `first` on. */
  listWaiting(modality: string, modelId: string, range: { first: number; count: number }): Promise<string[]>;
  /** Counts the waiting jobs that would run before the next one with this turn. */
  countAhead(modality: string, modelId: string, turn: FairTurn): Promise<number>;
}

export interface BulkOptions {
  /** Returns the turn of a job, as in `EnqueueOptions`. */
  turnOf?: (envelope: JobEnvelope) => FairTurn;
}

export interface EnqueueOptions {
  /**
   * Jobs with equal keys go to the same worker while it has capacity. Called only when more than one could be chosen;
   * not for jobs without a reply channel. Scope it: whatever must not share a key must not have equal ones.
   */
  routeKey?: () => string;
  /**
   * The only process that can run the job. Others put it off while that process lives. If it has gone, any worker gets
   * the job, and its handler must say why it cannot run it.
   */
  onlyWorkerId?: string;
  /**
   * The turn that the job takes among the waiting jobs of its queue. Absent: it runs before all jobs that take turns.
   */
  turn?: FairTurn;
}

export interface QueueCounts {
  /** Jobs that BullMQ calls waiting or prioritized, and sticky jobs that wait for their worker. */
  waiting: number;
  active: number;
  /** Jobs that are not due within the next second, because they are retried later. */
  delayed: number;
}

export interface ConsumerOptions<Payload extends object, Result extends object> {
  definition: JobDefinition<Payload, Result>;
  modelId: string;
  handler: (job: RunningJob<Payload>) => Promise<JobReport>;
  /** Overrides the policy's concurrency, for hosts with fewer slots. */
  concurrency?: number;
  /** Jobs beyond the concurrency that may run if they go first in the fair order; default 0. */
  spareSlots?: number;
  /**
   * Called for each job at its first delivery: ms from enqueueing to now, by the clocks of both hosts. Must not throw.
   */
  onPickup?: (waitedMs: number) => void;
  /**
   * How long jobs may wait while this consumer has capacity and takes none, in ms; then its connections are reopened,
   * and if that does not help, `isStalled` says so. Absent: no watchdog.
   */
  pickupTimeoutMs?: number;
  /** Called with what became of each sticky job that this process took or was told to claim. Must not throw. */
  onSticky?: (end: StickyJobEnd) => void;
}

/**
 * `claimed`: this process runs a job that prefers it. `taken-over`: it runs a job that prefers another worker. `returned`: it
 * released a job because it has no room or stops. `too-late`: the job was gone when it tried to claim it. `spare`: it runs a
 * job that may use a spare slot.
 */
export type StickyJobEnd = 'claimed' | 'returned' | 'too-late' | 'taken-over' | 'spare';

/** A job in a worker's hands. */
export interface RunningJob<Payload extends object = object> {
  readonly envelope: JobEnvelope<Payload>;
  /** Aborts when the caller cancels, its api replica is gone, the deadline passes, or the worker stops. */
  readonly signal: AbortSignal;
  /** Sends to the caller; sends are ordered and never wait. A no-op for async jobs. */
  readonly replies: ReplyWriter;
  /** Reports the progress of an async job, 0 to 100, as often as needed. A no-op for jobs with a reply channel. */
  progress(percent: number): void;
}

/** What a handler reports when it succeeds: the consumer turns it into a result before completing the job. */
export interface JobReport {
  usage: JobUsage | null;
  /** True when the job ended early because its signal aborted; what was produced is in `usage`. */
  cancelled: boolean;
  /** Run time of the engine, in ms. */
  executionMs: number;
  /** Time from the start of the run to its first token, in ms. Absent: no text, or none before it ended. */
  firstTokenMs?: number;
  /** Async jobs: ids of the artifacts that are its result. */
  artifacts?: readonly string[];
}

export interface JobConsumer {
  readonly modelId: string;
  /** How often its connections were reopened because it took no job although it should have. */
  readonly restarts: number;
  /** True when reopening did not help: only another process will. */
  readonly isStalled: boolean;
  /** Takes no more jobs until `resume`, not even sticky ones; running jobs continue. Returns at once. */
  pause(): void;
  /** Takes jobs again. Has no effect on a consumer that is not paused, or is closed. */
  resume(): void;
  /** Stops taking jobs; resolves when running ones have ended or `graceMs` is over. */
  close(graceMs: number): Promise<void>;
}

/** How a request ended, once per attempt; `libs/jobs` closes the row with it. */
export interface JobResult {
  requestId: string;
  /** The attempt of the envelope: the row accepts only the result of its current attempt. */
  attempt: number;
  modality: string;
  modelId: string;
  /** How often the queue itself retried this attempt before it ended. */
  retries: number;
  status: 'succeeded' | 'failed' | 'cancelled';
  error: WireError | null;
  usage: JobUsage | null;
  executionMs: number;
  /** The field of `JobReport`, for display only. Results of older workers lack it. */
  firstTokenMs?: number;
  /** The field of `JobReport`. */
  artifacts?: readonly string[];
  /** Pools and process id of the worker, as in `JobStartedEvent.servedBy`. Only for display. */
  reportedBy?: string;
  /** Ms since the epoch by the worker's clock. Only for display. */
  finishedAtMs: number;
  /** Proves that the reporter had the job's ticket. A result without proof does not count. */
  proof?: ResultProof;
}

/** Waiting results, by names of their batches: a batch keeps its name until everything in it is processed. */
export interface PendingResults {
  /** Batches that are retried later, because a handler rejected one of their results. */
  postponed: readonly string[];
  /** Batches that are next or in progress, for the first time or again. The oldest are named. */
  underWay: readonly string[];
}

/** Durable: a reported result is processed at least once, whatever dies in between. */
export interface JobResultQueue {
  report(result: JobResult): Promise<void>;
  /** Lists what was reported and is not processed yet. One cheap check, which names at most 1,000 of each kind. */
  pending(): Promise<PendingResults>;
  /** Runs `handler` for each result until closed; a rejection is retried with back-off, without limit. */
  process(handler: (result: JobResult) => Promise<void>): Promise<{ close(): Promise<void> }>;
}

/**
 * Events of a job on their way to the caller. `type` is a noun and a verb (`text-delta`); the slices define
 * theirs. The last event of a request is always `job-finished` or `job-failed`, sent by the consumer.
 */
export interface ReplyEvent {
  type: string;
}

export interface JobStartedEvent extends ReplyEvent {
  type: 'job-started';
  /** Pools and process id of the worker: `gpu-a/3f0c…`. Absent: a restart on the same worker, or an older worker. */
  servedBy?: string;
  /** How often the job was retried before; absent: never. */
  retries?: number;
}

/** The job can no longer be refused for its input. Sent by workers that are asked to, before their other events. */
export interface JobAcceptedEvent extends ReplyEvent {
  type: 'job-accepted';
}

export interface JobFinishedEvent extends ReplyEvent {
  type: 'job-finished';
  usage: JobUsage | null;
}

export interface JobFailedEvent extends ReplyEvent {
  type: 'job-failed';
  error: WireError;
}

/** A request with a reply stream, and the model that answers it. */
export type AnsweredRequest = Pick<JobEnvelope, 'requestId' | 'modelId'>;

/** Sending side of a reply channel. */
export interface ReplyWriter {
  /** Queues events for sending; events of all requests of one replica share a message. Never throws. */
  send(...events: ReplyEvent[]): void;
}

/** The api's side: one blocking reader per process, one reply stream per request. */
export interface ReplyChannel {
  /** The address to which workers send; goes into `JobEnvelope.replyTo`. Valid once `start` has resolved. */
  readonly address: string;
  start(): Promise<void>;
  /**
   * Opens the reply stream of a request; open it before enqueueing. It accepts events only from processes that have the
   * key of its model.
   */
  open(request: AnsweredRequest): ReplyStream;
  writer(address: string, request: AnsweredRequest): ReplyWriter;
}

/**
 * The events of one request, in order and without gaps; a lost event ends the iteration with a
 * `PlatformError`. The buffer is bounded (`maxBufferedBytes`): a consumer that is slower for longer gets an error.
 */
export interface ReplyStream extends AsyncIterable<ReplyEvent> {
  close(): void;
  /**
   * Ends the iteration with an error, after what is already buffered; has no effect when that includes the final event.
   */
  fail(error: PlatformError): void;
}

/** The progress of an async job. */
export interface JobProgress {
  requestId: string;
  /** The model, because only its workers can report progress. */
  modelId: string;
  attempt: number;
  /** 0 to 100; 0 means that a worker has started. */
  percent: number;
}

/** Progress reports of workers for async jobs. Lossy: the next one makes up for a lost one. */
export interface ProgressBus {
  /** Never throws and never waits; sends at most one report per second and job from this process. */
  report(progress: JobProgress): void;
  /** Called for every report; the returned function unsubscribes. */
  subscribe(listener: (progress: JobProgress) => void): () => void;
}

/** Tells every worker to stop a request. Lossy: the deadline and cluster membership cover lost messages. */
export interface CancelBus {
  cancel(requestId: string): Promise<void>;
  /** Called for every cancel; the returned function unsubscribes. */
  subscribe(listener: (requestId: string) => void): () => void;
}
