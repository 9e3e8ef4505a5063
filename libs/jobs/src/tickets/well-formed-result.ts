import { isErrorCode } from '#common';
import type { JobResult } from '#queue';

const statuses = ['succeeded', 'failed', 'cancelled'] as const;
const maxInteger = 2 ** 31 - 1;
const maxTextLength = 20_000;

/** What PostgreSQL takes in no text: the null character, and halves of surrogate pairs. */
const unstorable = /\\u(0000|d[89a-f])/i;

/**
 * Whether a value from the queue is a job result that can be stored. Anything else must not reach the database: the
 * statement fails with all results of its group, and is repeated for ever.
 */
export function isWellFormed(value: unknown): value is JobResult {
  if (typeof value !== 'object' || value === null) return false;
  const { requestId, modality, modelId, attempt, executionMs, status, error, usage, artifacts } =
    value as Partial<JobResult>;
  return (
    [requestId, modality, modelId].every(isText) &&
    isInteger(attempt, 1) &&
    isInteger(executionMs, 0) &&
    statuses.some((known) => known === status) &&
    isError(error) &&
    (usage === null || typeof usage === 'object') &&
    (artifacts === undefined || (Array.isArray(artifacts) && artifacts.length <= 100 && artifacts.every(isText))) &&
    !unstorable.test(JSON.stringify(value))
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= maxTextLength;
}

function isInteger(value: unknown, min: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= maxInteger;
}

function isError(error: unknown): boolean {
  if (error === null) return true;
  if (typeof error !== 'object') return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return isErrorCode(code) && isText(message);
}
