import { setImmediate } from 'node:timers/promises';

/** How long a computation runs before the event loop turns, in ms. */
const sliceMs = 8;

/** Runs a stepwise computation in slices between which the event loop turns, and returns its result. */
export async function inSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const startedAt = performance.now();
    while (performance.now() - startedAt < sliceMs) {
      const { done, value } = steps.next();
      if (done) return value;
    }
    await setImmediate();
  }
}
