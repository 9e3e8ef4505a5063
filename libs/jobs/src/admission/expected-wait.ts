import { PlatformError } from '#common';

/** Seconds after which a refused request is sent again when the throughput of the model is not known. */
const unknownRetrySeconds = { min: 5, max: 10 };

/** Longest `retry-after`, in seconds: the queue may drain sooner than expected. */
const maxRetrySeconds = 300;

/** A queue that takes no more jobs of a caller. */
export interface FullQueue {
  /** All waiting jobs. */
  waiting: number;
  /** Jobs that have to end before the request is admitted. */
  excess: number;
  /** Jobs per ms, or null when not known. */
  ratePerMs: number | null;
  /** A random number from 0 to 1. */
  random: number;
}

/**
 * Returns the seconds for `retry-after`: until the excess has ended, and then anywhere within the time in which the queue drains, so
 * that refused callers do not all come back at once.
 */
export function retryAfterSeconds({ waiting, excess, ratePerMs, random }: FullQueue): number {
  if (ratePerMs === null) {
    const { min, max } = unknownRetrySeconds;
    return Math.round(min + random * (max - min));
  }
  const seconds = (excess + random * waiting) / ratePerMs / 1_000;
  return Math.min(maxRetrySeconds, Math.max(1, Math.ceil(seconds)));
}

/** Returns `MODEL_AT_CAPACITY` for a queue that has as many jobs as it may. */
export function refusedByCount(queue: FullQueue): PlatformError {
  const { waiting, ratePerMs } = queue;
  const wait = ratePerMs === null ? '' : `, about ${durationOf(waiting / ratePerMs)} of work`;
  return refusal(`Too many requests wait for this model: ${waiting.toLocaleString('en-US')}${wait}.`, queue);
}

/** Returns `MODEL_AT_CAPACITY` for a request that would wait for longer than it may. */
export function refusedByWait(
  queue: FullQueue,
  { waitMs, maxWaitMs }: { waitMs: number; maxWaitMs: number },
): PlatformError {
  const text = `This request would wait for about ${durationOf(waitMs)}, longer than ${durationOf(maxWaitMs)}.`;
  return refusal(text, queue);
}

function refusal(text: string, queue: FullQueue): PlatformError {
  const afterSeconds = retryAfterSeconds(queue);
  const message = `${text} Try again in ${afterSeconds} s.`;
  return new PlatformError('MODEL_AT_CAPACITY', message, 'model', { retry: { afterSeconds } });
}

function durationOf(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
