import { PlatformError } from '#common';

/**
 * Runs work until its deadline, or until `parent` aborts. Rejects with `REQUEST_TIMEOUT`, or as the work does. A composed
 * signal would take longer than the rest of a short call.
 */
export async function withinDeadline<Result>(
  parent: AbortSignal,
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  parent.throwIfAborted();
  const ending = new AbortController();
  let isLate = false;
  const leave = (): void => ending.abort(parent.reason);
  const timer = setTimeout(() => ((isLate = true), ending.abort()), deadlineMs);
  parent.addEventListener('abort', leave, { once: true });
  try {
    return await work(ending.signal);
  } catch (error) {
    if (!isLate || parent.aborted) throw error;
    throw new PlatformError('REQUEST_TIMEOUT', 'No node answered in time.', null, { cause: error });
  } finally {
    clearTimeout(timer);
    parent.removeEventListener('abort', leave);
  }
}
