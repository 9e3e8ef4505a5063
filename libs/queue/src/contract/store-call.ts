import type { JobJson } from 'bullmq';
import { PlatformError } from '#common';
import type { FetchedJob } from './store.js';

/** How long the store may be silent before the callers of its operations are told that it is unavailable, in ms. */
export const storeCallTimeoutMs = 1_500;

/** Maximum time of one operation while the store responds to others, in ms. */
const longestCallMs = 6_000;

/** Returns the error for callers; hosts, paths and the store's own message stay in `cause`. */
export function storeUnavailable(cause?: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The job queue is not available right now.', null, { cause });
}

export function storeFull(): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The job queue has no room for new work right now.');
}

/** Remembers when a store last responded to any operation. */
export class StoreActivity {
  private lastMs = -Infinity;

  responded(): void {
    this.lastMs = performance.now();
  }

  /** Returns how long an operation that began at `beganMs` has waited for a sign of life, in ms. */
  silentMs(beganMs: number): number {
    return performance.now() - Math.max(beganMs, this.lastMs);
  }
}

/**
 * Runs one operation on the store. Settles: a request must never hang because the store is down. Rejects with
 * `SERVICE_UNAVAILABLE` when the store has been silent for `timeoutMs`; an operation that timed out may still take effect
 * later. A store that responds to other operations is only busy: in a peak, operations wait for a connection.
 */
export async function storeCall<T>(
  operation: () => Promise<T>,
  timeoutMs = storeCallTimeoutMs,
  activity = new StoreActivity(),
): Promise<T> {
  const beganMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const late = new Promise<never>((_resolve, reject) => {
    const lookIn = (ms: number): void => {
      // The check runs after responses that arrived while the event loop was busy.
      timer = setTimeout(() => setImmediate(look), ms);
    };
    const look = (): void => {
      if (isSettled) return;
      const leftMs = Math.min(
        timeoutMs - activity.silentMs(beganMs),
        Math.max(timeoutMs, longestCallMs) - (performance.now() - beganMs),
      );
      if (leftMs > 0) return lookIn(leftMs);
      reject(storeUnavailable(new Error(`no answer within ${Math.round(performance.now() - beganMs)} ms`)));
    };
    lookIn(timeoutMs);
  });
  try {
    const result = await Promise.race([operation(), late]);
    activity.responded();
    return result;
  } catch (error) {
    throw error instanceof PlatformError ? error : storeUnavailable(error);
  } finally {
    isSettled = true;
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

/** Returns the milliseconds before the next attempt: 100, 200, 400… up to `capMs`. */
export function backOffMs(failures: number, capMs = 1_000): number {
  return Math.min(100 * 2 ** Math.max(0, failures - 1), capMs);
}

/** Reads the tuple that `moveToActive` of BullMQ's backends returns: data, id, and two delays that do not matter here. */
export function fetchedJob([data, id]: unknown[]): FetchedJob | null {
  return data && typeof id === 'string' ? { id, data: data as JobJson } : null;
}
