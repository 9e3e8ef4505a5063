import type { ErrorCode, JobUsage, PlatformError } from '#common';
import type { RawQueries } from '#platform/prisma';
import type { ReservedTokens } from '#rate-limit';

/**
 * `queued → running → succeeded | failed | cancelled | expired`; `running` may be skipped by quick jobs. The next attempt of
 * an async job that the queue lost while it ran is `queued` again.
 */
export type ClosedState = 'succeeded' | 'failed' | 'cancelled' | 'expired';
export type JobState = 'queued' | 'running' | ClosedState;

/** A transaction that steps write into. */
export type JobTransaction = RawQueries;

/** How a row is to be closed. */
export interface JobClosing {
  requestId: string;
  /** The attempt, which must be the row's current one; a closing of any other has no effect. */
  attempt: number;
  state: ClosedState;
  errorCode: ErrorCode | null;
  usage: JobUsage | null;
  /** Run time of the engine, in ms. */
  executionMs: number;
  /** Time from the start of the run to its first token, in ms. Absent: no text, or nobody measured it. */
  firstTokenMs?: number;
  /** Pools and id of the worker that ran it. Absent: none did. */
  worker?: string;
  /** Async jobs: the error message, for a caller who retrieves it later. */
  errorMessage?: string | null;
  /** Async jobs: artifact ids of the result. */
  artifacts?: readonly string[];
}

/** A row at the moment it was closed. */
export interface ClosedJob extends JobClosing {
  accountId: string;
  apiKeyId: string;
  modality: string;
  modelId: string;
  /** What its rate limit still reserves for it, or null for nothing. */
  reservedTokens?: ReservedTokens | null;
}

/** A row at the moment it was admitted. */
export interface AdmittedJob {
  requestId: string;
  accountId: string;
  apiKeyId: string;
  modality: string;
  modelId: string;
  /** Ms since the epoch by the clock of the database. */
  deadlineAtMs: number;
}

/** A job to admit. */
export interface Admission {
  readonly job: Omit<AdmittedJob, 'deadlineAtMs'>;
  readonly payload: object;
  /** The quote of its slice; only the step that knows it looks into it. */
  readonly quote: unknown;
}

/**
 * Takes part in the admission of one or several jobs: runs in the transaction that writes their rows, before they are
 * written. Resolves to a refusal or null for each, in order; refused jobs are not admitted, the others are. A rejection
 * admits none of them.
 */
export interface AdmissionStep {
  admit(transaction: JobTransaction, admissions: readonly Admission[]): Promise<(PlatformError | null)[]>;
}

/**
 * Takes part in closing one or several rows: runs in their transaction, exactly once per row; a rejection closes none
 * of them. The last of several steps may commit with its last statement (`RawQueries.last`).
 */
export interface ClosingStep {
  close(transaction: JobTransaction, jobs: readonly ClosedJob[]): Promise<void>;
}

/** Called for every closing that counted, after its transaction; its effects may be lost with the process. */
export type ClosedListener = (job: ClosedJob) => void;
