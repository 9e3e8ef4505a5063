import { isErrorCode } from '#common';
import type { JobResult } from '#queue';

const statuses = ['succeeded', 'failed', 'cancelled'] as const;
const maxInteger = 2 ** 31 - 1;
const maxTextLength = 20_000;

/** Matches what PostgreSQL accepts in no text: the null character, and halves of surrogate pairs. */
const unstorable = /\\u(0000|d[89a-f])/i;

/**
 * Returns what is wrong with a value from the queue that should be a job result, or null when it can be stored.
 * Anything else must not reach the database: the statement would fail with all results of its group, and be repeated
 * forever. The text names fields, and no values.
 */
export function malformationOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return 'not an object';
  const result = value as Partial<JobResult>;
  const field = fieldChecks.find(([, isValid]) => !isValid(result))?.[0];
  if (field !== undefined) return `${field} is missing or invalid`;
  try {
    return unstorable.test(JSON.stringify(value)) ? 'a text that cannot be stored' : null;
  } catch {
    return 'nested too deeply';
  }
}

const fieldChecks: readonly (readonly [keyof JobResult, (result: Partial<JobResult>) => boolean])[] = [
  ['requestId', ({ requestId }) => isText(requestId)],
  ['modality', ({ modality }) => isText(modality)],
  ['modelId', ({ modelId }) => isText(modelId)],
  ['attempt', ({ attempt }) => isInteger(attempt, 1)],
  ['executionMs', ({ executionMs }) => isInteger(executionMs, 0)],
  ['status', ({ status }) => statuses.some((known) => known === status)],
  ['error', ({ error }) => isError(error)],
  ['usage', ({ usage }) => usage === null || typeof usage === 'object'],
  [
    'artifacts',
    ({ artifacts }) =>
      artifacts === undefined || (Array.isArray(artifacts) && artifacts.length <= 100 && artifacts.every(isText)),
  ],
];

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
