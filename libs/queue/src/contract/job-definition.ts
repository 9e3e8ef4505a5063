// The decorators of payload classes write their metadata through it.
import 'reflect-metadata';
import type { ResultTicket } from './result-ticket.js';

/** A class whose instances class-validator can check. */
export type PayloadClass<T extends object> = new () => T;

/** Everything a queue must know about a kind of job. There are no defaults: each job states all of it. */
export interface JobPolicy {
  /**
   * How often the queue may hand the job to a worker; streams take 1, since a half-sent response cannot be replayed.
   */
  readonly attempts: number;
  /** How long a worker owns a job without renewing its lock, in ms. */
  readonly lockMs: number;
  /** Age after which the job is dropped instead of run, in ms from admission. */
  readonly deadlineMs: number;
  /** How often a job may be taken from a silent worker. */
  readonly stalledMax: number;
  /** Jobs one worker process runs at once, per model. */
  readonly concurrency: number;
}

/** A kind of job: its payload, its result, and how the queue treats it. Made by `defineJob`. */
export interface JobDefinition<Payload extends object, Result extends object> {
  /** `chat`, `video`…: the first part of the queue's name, `<modality>.<model>`. */
  readonly modality: string;
  readonly payload: PayloadClass<Payload>;
  readonly result: PayloadClass<Result>;
  readonly policy: JobPolicy;
  /** Async jobs: they have no reply channel, report progress, and their caller asks for the result later. */
  readonly isAsync?: true;
}

export function defineJob<Payload extends object, Result extends object>(
  definition: JobDefinition<Payload, Result>,
): JobDefinition<Payload, Result> {
  return Object.freeze({ ...definition, policy: Object.freeze({ ...definition.policy }) });
}

/** Returns the name of the queue of one model. Neither part may hold a `:`; model ids are checked at registration. */
export function queueName(modality: string, modelId: string): string {
  return `${modality}.${modelId}`;
}

/** Name of the queue of job results. */
export const jobResultQueueName = 'job-results';

/** Modality of work that an api replica does itself: searches, pages and files. It has rows but no queue. */
export const directModality = 'direct';

/** What travels through the queue: the payload and what the worker must know about its request. */
export interface JobEnvelope<Payload extends object = object> {
  /** Id of the request, of the job, and of the row. */
  requestId: string;
  modality: string;
  modelId: string;
  /**
   * Counts the times the request was enqueued, from 1. Only the result of the current attempt counts. The queue's own
   * retries belong to the same attempt.
   */
  attempt: number;
  /** Ms since the epoch (database time) after which the response is no longer awaited. */
  deadlineAtMs: number;
  /** Reply address of the waiting api replica, or null for async jobs. */
  replyTo: string | null;
  /**
   * False when the response is read only once it is complete: a job that lost its worker may then go to another.
   * Optional while producers without this field exist; absent counts as true for a job with a reader.
   */
  stream?: boolean;
  /** True once its client has disconnected: a job that returns from a lost worker is dropped. */
  cancelled?: boolean;
  /** The process for which the job was kept at first. Any worker may still run it. */
  preferredWorkerId?: string;
  /** The only process that can run the job: others put it off while that process lives. */
  onlyWorkerId?: string;
  /** True when the job goes first in the fair order: a host may run it in addition to the jobs that fill its slots. */
  mayUseSpareSlot?: boolean;
  /** W3C `traceparent` of a traced request. Lost when a sweep re-enqueues the job. */
  trace?: string;
  /**
   * The ticket for the job's result. It is sealed with the payload, so that only a worker that may read the job can end
   * it.
   */
  ticket?: ResultTicket;
  payload: Payload;
}

/** How much longer than its job a tool may run, in ms: the job's signal, which knows why it ends, comes first. */
const afterSignalMs = 5_000;

/** Returns the maximum run time of a tool that works for a job, in ms from now: the time until the job's deadline. */
export function toolTimeMs({ deadlineAtMs }: Pick<JobEnvelope, 'deadlineAtMs'>): number {
  return Math.max(0, deadlineAtMs - Date.now()) + afterSignalMs;
}
