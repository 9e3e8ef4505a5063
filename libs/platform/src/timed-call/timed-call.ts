import { type Context, createContext, Script } from 'node:vm';

/** Work that was stopped because it took too long. */
export class CallTimeout extends Error {
  constructor(limitMs: number) {
    super(`The work was stopped after ${limitMs} ms.`);
  }
}

const timeoutCode = 'ERR_SCRIPT_EXECUTION_TIMEOUT';
const script = new Script('work()');
const slot: { work: (() => void) | null } = { work: null };
let context: Context | null = null;

/**
 * Returns what `work`, which is synchronous, returns, or stops it within any loop or call and throws `CallTimeout`. What
 * it was doing stays as it was then, its `finally` blocks too: only for work whose state nobody uses again. The time is
 * that of a clock, so that the limit must leave room for a busy machine. Work within such
 * work has the limit of the outer one.
 */
export function callWithin<Result>(limitMs: number, work: () => Result): Result {
  if (slot.work !== null) return work();
  const returned: { result?: Result } = {};
  context ??= createContext(slot);
  slot.work = () => void (returned.result = work());
  try {
    script.runInContext(context, { timeout: limitMs });
    return returned.result as Result;
  } catch (error) {
    throw isTimeout(error) ? new CallTimeout(limitMs) : error;
  } finally {
    slot.work = null;
  }
}

/** The error is one of the context, so that it is no instance of this one's class. */
function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === timeoutCode;
}
