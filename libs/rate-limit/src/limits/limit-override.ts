import { PlatformError } from '#common';
import { type LimitClass, limitClasses } from './limit-table.js';

/** Subject of a limit: an account, a key, or, with neither, the whole installation. */
export interface LimitSubject {
  accountId: string | null;
  apiKeyId: string | null;
}

/** An operator's override of the table. Null leaves a limit unchanged. */
export interface LimitOverride extends LimitSubject {
  /** A class, `model:<id>`, or `*` for everything. Keys and the installation have only `*`. */
  target: string;
  /** Per minute. */
  requests: number | null;
  tokens: number | null;
  /** Requests that may be open at once; of an account or a key only, over all models. */
  concurrent?: number | null;
}

export const everything = '*';
/** Requests of an account that run no model. */
export const plainRequests = 'other';

export const maxRequests = 1_000_000_000;
export const maxTokens = 1_000_000_000_000;

export const maxConcurrent = 1_000_000;

export const targetOfModel = (modelId: string): string => `model:${modelId}`;

/** Throws `INVALID_REQUEST` for limits that no window can enforce. */
export function checkOverride({
  accountId,
  apiKeyId,
  target,
  requests,
  tokens,
  concurrent = null,
}: LimitOverride): void {
  if (requests === null && tokens === null && concurrent === null) {
    refuse('Name a limit: requests, tokens or concurrent requests.');
  }
  if (concurrent !== null) {
    checkAmount('concurrent requests', concurrent, maxConcurrent);
    if ((accountId === null && apiKeyId === null) || target !== everything) {
      refuse('Concurrent requests are limited for an account or a key, over all models.');
    }
  }
  if (requests !== null) checkAmount('requests', requests, maxRequests);
  if (tokens !== null) checkAmount('tokens', tokens, maxTokens);
  if (accountId === null) {
    if (target !== everything) refuse('Only the limits of an account can apply to one model or class.');
  } else if (
    target !== everything &&
    target !== plainRequests &&
    !isClass(target) &&
    !/^model:.{1,200}$/.test(target)
  ) {
    refuse(`There is no class ${target}. The classes are: ${[...limitClasses, plainRequests].join(', ')}.`);
  }
}

function isClass(target: string): target is LimitClass {
  return (limitClasses as readonly string[]).includes(target);
}

function checkAmount(what: string, amount: number, max: number): void {
  if (Number.isInteger(amount) && amount >= 0 && amount <= max) return;
  refuse(`The limit of ${what} must be a whole number from 0 to ${max}.`);
}

function refuse(message: string): never {
  throw new PlatformError('INVALID_REQUEST', message);
}
