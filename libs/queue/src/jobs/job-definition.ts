// The decorators of payloads write to it.
import 'reflect-metadata';

/** A class whose instances class-validator can check. */
export type PayloadClass<T extends object> = new () => T;

/** Everything a queue must know about a kind of job. There are no defaults: each job states all of it. */
export interface JobPolicy {
  /** How often the queue may hand the job to a worker; streams take 1, a half-sent answer cannot be replayed. */
  readonly attempts: number;
  /** How long a worker owns a job without renewing, in ms. */
  readonly lockMs: number;
  /** Age after which the job is dropped instead of run, in ms from admission. */
  readonly deadlineMs: number;
  /** How often a job may be taken back from a silent worker. */
  readonly stalledMax: number;
  /** Jobs one worker process runs at once, per model. */
  readonly concurrency: number;
}

/** A kind of job: what goes in, what comes out, and how the queue treats it. Made by `defineJob`. */
export interface JobDefinition<Payload extends object, Result extends object> {
  /** `chat`, `video`…: the first part of the queue's name, `<modality>.<model>`. */
  readonly modality: string;
  readonly payload: PayloadClass<Payload>;
  readonly result: PayloadClass<Result>;
  readonly policy: JobPolicy;
  /** Nobody waits for these jobs: they have no mailbox, tell their progress, and their caller asks for the result later. */
  readonly isAsync?: true;
}

export function defineJob<Payload extends object, Result extends object>(
  definition: JobDefinition<Payload, Result>,
): JobDefinition<Payload, Result> {
  return Object.freeze({ ...definition, policy: Object.freeze({ ...definition.policy }) });
}

/** The queue of one model. Neither part may hold a `:`; model ids are checked at registration. */
export function queueName(modality: string, modelId: string): string {
  return `${modality}.${modelId}`;
}

/** What travels through the queue: the payload and what the worker must know of its request. */
export interface JobEnvelope<Payload extends object = object> {
  /** Id of the request, of the job, and of the row. */
  requestId: string;
  modality: string;
  modelId: string;
  /**
   * Which enqueueing of the request this is, from 1; only the current one's outcome counts. The queue's own retries are
   * of the same attempt.
   */
  attempt: number;
  /** Ms since the epoch (database time) after which nobody waits for the answer any more. */
  deadlineAtMs: number;
  /** Mailbox address of the api replica that waits, or null for async jobs. */
  replyTo: string | null;
  /**
   * False when nobody reads a part of the answer before it is whole: then a job that lost its worker may be given to
   * another. Optional until no producer of before this field is left; absent counts as true for a job with a reader.
   */
  stream?: boolean;
  /** True once its caller has left: a job that comes back from a lost worker is dropped. */
  cancelled?: boolean;
  /** Process for which the job was kept at first; says nothing about who may run it. */
  preferredWorkerId?: string;
  /** W3C `traceparent` of the request, where it is traced. Lost when a sweep puts the job back. */
  trace?: string;
  payload: Payload;
}

/** How much longer than its job a tool may run, in ms: the job's signal, which knows why it ends, comes first. */
const afterSignalMs = 5_000;

/** Longest life of a tool that works for a job, in ms from now: what is left until the job's deadline. */
export function toolTimeMs({ deadlineAtMs }: Pick<JobEnvelope, 'deadlineAtMs'>): number {
  return Math.max(0, deadlineAtMs - Date.now()) + afterSignalMs;
}
