import { type CompilePlace, ConstraintRefusal } from './refusal.js';
import { WorkTimer } from './work-timer.js';

/** Calls between two looks at the clock. */
const callsPerLook = 256;

/** The running step: refused once its timer exceeds the limit. */
let current: { timer: WorkTimer | null; limitMs: number } | null = null;
let untilLook = callsPerLook;

const reason = 'compiling takes too long';

/** The refusal of a compilation that has reached this place. */
export function takesTooLong({ pointer, param, subject }: CompilePlace): ConstraintRefusal {
  return new ConstraintRefusal(reason, pointer, param, subject);
}

/**
 * Runs the step of a compilation that begins at `place`, which is refused once `checkDeadline` is called behind the limit
 * of its timer. All its refusals name the field of the place. Without a timer, which costs more than most masks, the
 * time counts from the first look.
 */
export function withDeadline<Result>(
  { place, ...limit }: { timer: WorkTimer | null; limitMs: number; place: CompilePlace },
  step: () => Result,
): Result {
  current = limit;
  try {
    return step();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const located = error.reason === reason ? error.at(place.pointer) : error;
    throw place.param === undefined ? located : located.in(place.param, place.subject);
  } finally {
    current = null;
  }
}

/** Called by whatever a step may do thousands of times; `work` is the number of things done since the last call. */
export function checkDeadline(work = 1): void {
  untilLook -= work;
  if (untilLook > 0) return;
  untilLook = callsPerLook;
  if (current === null) return;
  current.timer ??= new WorkTimer();
  if (current.timer.exceeds(current.limitMs)) throw new ConstraintRefusal(reason);
}
