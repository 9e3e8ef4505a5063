import type { ErrorCode, JobUsage, PlatformError } from '#common';
import type { RawQueries } from '#platform/prisma';
import type { ReservedTokens } from '#rate-limit';

/** `queued → running → succeeded | failed | cancelled | expired`; `running` may be skipped by quick jobs. */
export type ClosedState = 'succeeded' | 'failed' | 'cancelled' | 'expired';
export type JobState = 'queued' | 'running' | ClosedState;

/** A transaction that steps write their part into. */
export type JobTransaction = RawQueries;

/** How a row is to be closed. */
export interface JobClosing {
  requestId: string;
  /** Only the row's current attempt can be closed; anything else changes nothing. */
  attempt: number;
  state: ClosedState;
  errorCode: ErrorCode | null;
  usage: JobUsage | null;
  /** Ms the engine worked on it. */
  executionMs: number;
  /** Of async jobs: the message of what failed, for the caller who asks later. */
  errorMessage?: string | null;
  /** Of async jobs: ids of the result. */
  artifacts?: readonly string[];
}

/** A row the moment it was closed. */
export interface ClosedJob extends JobClosing {
  accountId: string;
  apiKeyId: string;
  modality: string;
  modelId: string;
  /** What its rate limit still holds for it; null: nothing. */
  reservedTokens?: ReservedTokens | null;
}

/** A row the moment it was admitted. */
export interface AdmittedJob {
  requestId: string;
  accountId: string;
  apiKeyId: string;
  modality: string;
  modelId: string;
  /** Ms since the epoch by the database's clock. */
  deadlineAtMs: number;
}

/** A job on its way in. */
export interface Admission {
  readonly job: Omit<AdmittedJob, 'deadlineAtMs'>;
  readonly payload: object;
  /** What its slice quoted; only the step that knows it looks into it. */
  readonly quote: unknown;
}

/**
 * Joins the admission of jobs, of one or of several that came together: runs in the transaction that writes their rows,
 * before they are written. Resolves to a refusal or null for each, in their order: who is refused is not admitted and
 * hears it, the others are. A rejection admits none of them.
 */
export interface AdmissionStep {
  admit(transaction: JobTransaction, admissions: readonly Admission[]): Promise<(PlatformError | null)[]>;
}

/**
 * Joins the closing of rows, of one or of several that ended together: runs in their transaction, exactly once per row;
 * a rejection closes none of them. The last of several steps may commit with its last statement (`RawQueries.last`).
 */
export interface ClosingStep {
  close(transaction: JobTransaction, jobs: readonly ClosedJob[]): Promise<void>;
}

/** Told of every closing that counted, after its transaction; what it does may be lost with the process. */
export type ClosedListener = (job: ClosedJob) => void;
