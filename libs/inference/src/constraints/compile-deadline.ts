import { type CompilePlace, ConstraintRefusal } from './refusal.js';
import { WorkTimer } from './work-timer.js';

/** Calls between two looks at the clock. */
const callsPerLook = 256;

/** How long work may keep the event loop from turning although its slice is over, in ms: it is refused beyond. */
export const maxStepMs = 100;

/** How long work may go on until the event loop turns. */
export interface WorkLimits {
  /** Time after which the work should yield, in ms. */
  sliceMs: number;
  /** Time after which it is refused, in ms. */
  limitMs: number;
}

interface RunningWork extends WorkLimits {
  /** Made behind the slice: asking for processor time takes longer than most masks do. */
  timer: WorkTimer | null;
  startedAt: number;
  isOver: boolean;
}

/** The running slice of work. */
let current: RunningWork | null = null;
let untilLook = callsPerLook;

const reason = 'compiling takes too long';

/** The refusal of a compilation that has reached this place. */
export function takesTooLong({ pointer, param, subject }: CompilePlace): ConstraintRefusal {
  return new ConstraintRefusal(reason, pointer, param, subject);
}

/** Whether work was refused for the time that it took. */
export function tookTooLong(refusal: ConstraintRefusal): boolean {
  return refusal.reason === reason;
}

/**
 * Runs a slice of work on a compilation that has reached `place`. `checkDeadline` refuses it behind its limit, and
 * `isSliceOver` tells it when to yield. All its refusals name the field of the place.
 */
export function withDeadline<Result>(
  { place, timer = null, ...limits }: WorkLimits & { place: () => CompilePlace; timer?: WorkTimer | null },
  work: () => Result,
): Result {
  const outer = current;
  current = { ...limits, timer, startedAt: performance.now(), isOver: false };
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const { pointer, param, subject } = place();
    const located = error.reason === reason ? error.at(pointer) : error;
    throw param === undefined ? located : located.in(param, subject);
  } finally {
    current = outer;
  }
}

/** Called by whatever may be done thousands of times; `work` is the number of things done since the last call. */
export function checkDeadline(work = 1): void {
  untilLook -= work;
  if (untilLook <= 0) look();
}

/**
 * As `checkDeadline`; also tells whether the slice has had its time. Loops yield then, so that the event loop turns. A
 * loop whose single rounds are long need not count them: what they do is counted by itself.
 */
export function isSliceOver(work = 1): boolean {
  checkDeadline(work);
  return current !== null && current.isOver;
}

/** Whether `checkDeadline` has found the slice over. Costs nothing: for loops whose rounds mostly do nothing. */
export function hasSliceEnded(): boolean {
  return current !== null && current.isOver;
}

function look(): void {
  untilLook = callsPerLook;
  if (current === null) return;
  const elapsedMs = performance.now() - current.startedAt;
  if (elapsedMs < current.sliceMs) return;
  current.isOver = true;
  current.timer ??= new WorkTimer();
  if (current.timer.exceeds(current.limitMs)) throw new ConstraintRefusal(reason);
}

/** The same work, its places replaced. */
export function* atPlace<Result>(
  place: CompilePlace,
  work: Generator<unknown, Result>,
): Generator<CompilePlace, Result> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    yield place;
  }
}

/** The same work; a refusal without a location gets that of the place. */
export function* locatedAt<Result>(
  place: CompilePlace,
  work: Generator<unknown, Result>,
): Generator<CompilePlace, Result> {
  try {
    return yield* atPlace(place, work);
  } catch (error) {
    throw error instanceof ConstraintRefusal ? error.at(place.pointer) : error;
  }
}

/** Does all of the work at once. */
export function drained<Result>(work: Generator<unknown, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
