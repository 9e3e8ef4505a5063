import { ConstraintRefusal } from './refusal.js';
import type { WorkTimer } from './work-timer.js';

/** Calls between two looks at the clock. */
const callsPerLook = 256;

/** The running step: refused once its timer exceeds the limit. */
let current: { timer: WorkTimer; limitMs: number } | null = null;
let untilLook = callsPerLook;

const reason = 'compiling takes too long';

/** The refusal of a compilation that has reached `pointer`. */
export function takesTooLong(pointer: string): ConstraintRefusal {
  return new ConstraintRefusal(reason, pointer || '#');
}

/** Runs one step of a compilation, which is refused once `checkDeadline` is called behind the limit of its timer. */
export function withDeadline<Result>(
  { pointer, ...limit }: { timer: WorkTimer; limitMs: number; pointer: string },
  step: () => Result,
): Result {
  current = limit;
  try {
    return step();
  } catch (error) {
    const isLate = error instanceof ConstraintRefusal && error.reason === reason;
    throw isLate && error.pointer === '' ? takesTooLong(pointer) : error;
  } finally {
    current = null;
  }
}

/** Called by whatever a step may do thousands of times; `work` is the number of things done since the last call. */
export function checkDeadline(work = 1): void {
  untilLook -= work;
  if (untilLook > 0) return;
  untilLook = callsPerLook;
  if (current?.timer.exceeds(current.limitMs)) throw new ConstraintRefusal(reason);
}
