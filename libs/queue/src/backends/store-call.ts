import type { JobJson } from 'bullmq';
import { PlatformError } from '#common';
import type { FetchedJob } from './store.js';

/** Timeout of an operation on the store before the caller is told that the queue is unavailable, in ms. */
export const storeCallTimeoutMs = 1_500;

/** The message for callers; hosts, paths and the store's own message stay in `cause`. */
export function storeUnavailable(cause?: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The job queue is not available right now.', null, { cause });
}

export function storeFull(): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The job queue has no room for new work right now.');
}

/**
 * Runs one operation on the store. Settles within `timeoutMs`: a request must never hang because the store is down.
 * Rejects with `SERVICE_UNAVAILABLE`; an operation that timed out may still take effect later.
 */
export async function storeCall<T>(operation: () => Promise<T>, timeoutMs = storeCallTimeoutMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(storeUnavailable(new Error(`no answer within ${timeoutMs} ms`))), timeoutMs);
  });
  try {
    return await Promise.race([operation(), late]);
  } catch (error) {
    throw error instanceof PlatformError ? error : storeUnavailable(error);
  } finally {
    clearTimeout(timer);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves to true when `promise` settles, to false after `ms`. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds before the next attempt: 100, 200, 400… up to `capMs`. */
export function backOffMs(failures: number, capMs = 1_000): number {
  return Math.min(100 * 2 ** Math.max(0, failures - 1), capMs);
}

/** Reads the tuple that `moveToActive` of BullMQ's backends returns: data, id, and two delays that do not matter here. */
export function fetchedJob([data, id]: unknown[]): FetchedJob | null {
  return data && typeof id === 'string' ? { id, data: data as JobJson } : null;
}
