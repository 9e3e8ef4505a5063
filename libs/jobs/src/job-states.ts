import type { ErrorCode, JobUsage } from '#common';
import type { Prisma } from '#platform/prisma';
import type { ReservedTokens } from '#rate-limit';

/** `queued → running → succeeded | failed | cancelled | expired`; `running` may be skipped by quick jobs. */
export type ClosedState = 'succeeded' | 'failed' | 'cancelled' | 'expired';
export type JobState = 'queued' | 'running' | ClosedState;

/** A transaction that steps write their part into. */
export type JobTransaction = Prisma.TransactionClient;

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

/** Joins an admission: runs in the transaction of the row; a rejection admits nothing and reaches the caller. */
export interface AdmissionStep {
  admit(transaction: JobTransaction, job: AdmittedJob, payload: object, quote: unknown): Promise<void>;
}

/** Joins the closing of a row: runs in its transaction, exactly once per row; a rejection closes nothing. */
export interface ClosingStep {
  close(transaction: JobTransaction, job: ClosedJob): Promise<void>;
}

/** Told of every closing that counted, after its transaction; what it does may be lost with the process. */
export type ClosedListener = (job: ClosedJob) => void;
