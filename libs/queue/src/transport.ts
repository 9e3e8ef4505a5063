import type { PlatformError, JobUsage, WireError } from '#common';
import type { PlacementBus } from './heartbeats/desired-placements.js';
import type { JobDefinition, JobEnvelope } from './jobs/job-definition.js';
import type { ClusterMembership } from './heartbeats/heartbeat.js';

/*
 * The queue in interfaces, these and those of `presence-beat.ts` and `desired-placements.ts`. Two transports implement all
 * of them, Redis and Postgres, and one conformance suite (`transport.conformance.ts`) proves both. Nothing outside this
 * library imports bullmq.
 */

/** How a transport is chosen: `redis://…` or `postgres://…`. */
export interface TransportOptions {
  url: string;
  /** Prefix of every key, channel and schema, so that two installations can share a server. */
  namespace: string;
  /** Name of this process in server-side lists and logs: `api`, `worker`, `ops`. */
  clientName: string;
  /** Hears what an operator should: lost connections, a server set up to lose jobs. The log when absent. */
  warn?: (message: string, error?: unknown) => void;
  /** Heartbeats of the presence bus; tests shorten them. */
  membership?: { heartbeatMs: number; lostAfterMs: number };
  /** How long a process may stand still before another one takes over its outcomes, in ms; 10 s when absent, tests shorten it. */
  resultLockMs?: number;
  /** Bytes one mailbox slot holds for a slow reader; 4 MiB when absent. */
  replyBufferBytes?: number;
  /** For producers: jobs with equal route keys go to the same worker. No job is sticky when absent. */
  affinity?: AffinityOptions;
}

export interface AffinityOptions {
  /** How long a job waits for its preferred worker, in ms, at most 1,000; then any worker may take it. */
  stickyMs: number;
  /** Told of every job with a route key. Must not throw. */
  onDecision?: (decision: AffinityDecision) => void;
}

/** `sticky`, or why not: fewer than two workers serve the model (`alone`), or none has room below its share (`full`). */
export interface AffinityDecision {
  modality: string;
  modelId: string;
  decision: 'sticky' | 'alone' | 'full';
}

/** Abstract class and not interface: it is also the injection token. */
export abstract class QueueTransport {
  abstract readonly kind: 'redis' | 'postgres';
  abstract readonly producer: JobProducer;
  abstract readonly replies: ReplyChannel;
  abstract readonly cancelBus: CancelBus;
  abstract readonly membership: ClusterMembership;
  abstract readonly progress: ProgressBus;
  abstract readonly placements: PlacementBus;
  abstract readonly results: JobResultQueue;
  /** Operations on queues that failed since the start, or were not tried because the store is away. */
  abstract readonly failedCalls: number;
  /** Starts taking jobs of one model. `handler` rejects with a `PlatformError` to fail the job. */
  abstract consume<Payload extends object, Result extends object>(
    options: ConsumerOptions<Payload, Result>,
  ): Promise<JobConsumer>;
  /** Resolves when the store answers and takes work; rejects with its error, a `PlatformError` where it says why. For readiness. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}

export interface JobProducer {
  /** Throws `SERVICE_UNAVAILABLE` while what room the store has is for what runs; asked before anything is written. */
  requireRoom(): void;
  /** Adds the job; a repeated request id (same attempt) adds nothing. */
  enqueue(definition: JobDefinition<object, object>, envelope: JobEnvelope, options?: EnqueueOptions): Promise<void>;
  /** Adds many jobs of one queue in one round trip. */
  enqueueBulk(definition: JobDefinition<object, object>, envelopes: JobEnvelope[]): Promise<void>;
  /** Takes back a job no worker has picked up; false when it is running, finished or unknown. */
  remove(modality: string, modelId: string, requestId: string): Promise<boolean>;
  /** Has a job that a worker holds dropped as cancelled, should it come back to the queue because its worker was lost. */
  withdraw(modality: string, modelId: string, requestId: string): Promise<void>;
  /** True while the queue still holds the job, waiting or running. */
  holds(modality: string, modelId: string, requestId: string): Promise<boolean>;
  counts(modality: string, modelId: string): Promise<QueueCounts>;
}

export interface EnqueueOptions {
  /**
   * Jobs with equal keys go to the same worker while it has room. Called only when more than one could be chosen; not for
   * jobs without a mailbox. Scope it: whatever must not share a key must not have equal ones.
   */
  routeKey?: () => string;
}

export interface QueueCounts {
  /** Includes sticky jobs that wait for their worker. */
  waiting: number;
  active: number;
  /** Not before the next second: those that are tried again later. */
  delayed: number;
  prioritized: number;
}

export interface ConsumerOptions<Payload extends object, Result extends object> {
  definition: JobDefinition<Payload, Result>;
  modelId: string;
  handler: (job: RunningJob<Payload>) => Promise<JobReport>;
  /** Overrides the policy's concurrency, for hosts with fewer slots. */
  concurrency?: number;
  /** Told for each job at its first delivery: ms from enqueueing, by the clocks of both hosts, to now. Must not throw. */
  onPickup?: (waitedMs: number) => void;
  /**
   * How long jobs may wait while this consumer has room and takes none, in ms; then its connections are opened anew, and
   * if that does not help, `isDeaf` says so. Absent: nobody watches.
   */
  pickupTimeoutMs?: number;
  /** Called with what became of each sticky job that this process took or was told to claim. Must not throw. */
  onSticky?: (end: StickyJobEnd) => void;
}

/**
 * `claimed`: this process runs a job that prefers it. `taken-over`: it runs a job that prefers another worker. `given-back`: it
 * released a job because it has no room or stops. `too-late`: the job was gone when it tried to claim it.
 */
export type StickyJobEnd = 'claimed' | 'given-back' | 'too-late' | 'taken-over';

/** A job in a worker's hands. */
export interface RunningJob<Payload extends object = object> {
  readonly envelope: JobEnvelope<Payload>;
  /** Aborts when the caller cancels, its api replica is gone, the deadline passes, or the worker stops. */
  readonly signal: AbortSignal;
  /** Where the caller listens; sends are ordered and never wait. A no-op for async jobs. */
  readonly replies: ReplyWriter;
  /** Tells how far an async job has come, 0 to 100; call it as often as you like. A no-op for jobs with a mailbox. */
  progress(percent: number): void;
}

/** What a handler reports when it ends well: the consumer turns it into an outcome before completing the job. */
export interface JobReport {
  usage: JobUsage | null;
  /** True when the job ended early because its signal aborted; what was produced is in `usage`. */
  cancelled: boolean;
  /** Ms the engine worked on it. */
  executionMs: number;
  /** Ids of the artifacts that are its result, of async jobs. */
  artifacts?: readonly string[];
}

export interface JobConsumer {
  readonly modelId: string;
  /** How often its connections were opened anew because it took no job although it should have. */
  readonly restarts: number;
  /** True when that did not help: only another process will. */
  readonly isStalled: boolean;
  /** Takes no more jobs, sticky ones included, until `resume`; running jobs continue. Returns at once. */
  pause(): void;
  /** Takes jobs again; of no effect on one that is not paused, or was closed. */
  resume(): void;
  /** Stops taking jobs; resolves when running ones have ended or `graceMs` is over. */
  close(graceMs: number): Promise<void>;
}

/** How a request ended, once per attempt; `libs/jobs` closes the row with it. */
export interface JobResult {
  requestId: string;
  /** The attempt of the envelope: the row takes the outcome of its current attempt and of no other. */
  attempt: number;
  /** How often the queue itself ran this attempt again before it ended so. */
  retries: number;
  status: 'succeeded' | 'failed' | 'cancelled';
  error: WireError | null;
  usage: JobUsage | null;
  executionMs: number;
  /** As in `JobReport`. */
  artifacts?: readonly string[];
  /** Ms since the epoch by the worker's clock; for display only. */
  finishedAtMs: number;
}

/** Outcomes that wait, by names of their batches: one keeps its name until all in it are processed. */
export interface PendingResults {
  /** A handler rejected one of these: they are tried again later. */
  postponed: readonly string[];
  /** To be handled next, or being handled, for the first time or again. The oldest are named. */
  underWay: readonly string[];
}

/** Durable: a reported outcome is processed at least once, whatever dies in between. */
export interface JobResultQueue {
  report(result: JobResult): Promise<void>;
  /** What was reported and is not processed yet. One cheap look, which names no more than 1,000 of each kind. */
  pending(): Promise<PendingResults>;
  /** Runs `handler` for each outcome until closed; a rejection is retried with back-off, without end. */
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
}

export interface JobFinishedEvent extends ReplyEvent {
  type: 'job-finished';
  usage: JobUsage | null;
}

export interface JobFailedEvent extends ReplyEvent {
  type: 'job-failed';
  error: WireError;
}

/** Worker side of a mailbox. */
export interface ReplyWriter {
  /** Queues events for sending; events of all requests of one replica share a message. Never throws. */
  send(...events: ReplyEvent[]): void;
}

/** Api side: one blocking reader per process, one slot per request. */
export interface ReplyChannel {
  /** Where workers send to; goes into `JobEnvelope.replyTo`. Valid once `start` has resolved. */
  readonly address: string;
  start(): Promise<void>;
  /** Opens the slot of a request; open it before enqueueing. */
  open(requestId: string): ReplyStream;
  writer(address: string, requestId: string): ReplyWriter;
}

/**
 * The events of one request, in order and without gaps; a lost event ends the iteration with a
 * `PlatformError`. The buffer is bounded (`maxBufferedBytes`): a consumer that is slower for longer gets an error.
 */
export interface ReplyStream extends AsyncIterable<ReplyEvent> {
  close(): void;
  /** Ends the iteration with an error, after what is already buffered; of no effect when that holds the final event. */
  fail(error: PlatformError): void;
}

/** How far an async job has come. */
export interface JobProgress {
  requestId: string;
  attempt: number;
  /** 0 to 100; 0 means that a worker has begun. */
  percent: number;
}

/** What workers tell of their async jobs, for whoever keeps the rows. Lossy: the next one makes good for a lost one. */
export interface ProgressBus {
  /** Never throws and never waits; at most one a second and job leaves this process. */
  report(progress: JobProgress): void;
  /** Called for every report; the returned function unsubscribes. */
  subscribe(listener: (progress: JobProgress) => void): () => void;
}

/** Tells every worker to stop a request. Lossy by nature: the deadline and the presence check stand behind it. */
export interface CancelBus {
  cancel(requestId: string): Promise<void>;
  /** Called for every cancel; the returned function unsubscribes. */
  subscribe(listener: (requestId: string) => void): () => void;
}
