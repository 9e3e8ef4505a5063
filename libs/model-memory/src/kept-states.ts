import { mebibyte } from '#common/values';

/*
 * States of layers that do not attend (short convolutions, gated DeltaNet). A prefix of a prompt can only be reused at
 * a position whose state is kept, so the engine keeps some of them.
 */

const limits = {
  /** Memory that the kept states of all rows may take. */
  bytes: 64 * mebibyte,
  /** States that each request has at least, also where they take more memory than that. */
  perSlot: 2,
  /** Largest number; more would not make a difference. */
  states: 1_024,
  /** States of one prompt: at ends of its chunks, and where it ends. */
  fewestPerRow: 2,
  mostPerRow: 16,
} as const;

/** States of a row that are in memory while it runs: before a step, after it, and the copy that the runtime returns. */
const runningStates = 3;

/** Returns how many states of finished and running requests are kept for later prompts, in total and of one request. */
export function keptStates(stateBytes: number, slots: number): { total: number; perRow: number } {
  if (stateBytes === 0) return { total: 0, perRow: 0 };
  const total = Math.min(limits.states, Math.max(limits.perSlot * slots, Math.floor(limits.bytes / stateBytes)));
  const perRow = Math.floor(total / (2 * slots));
  return { total, perRow: Math.min(limits.mostPerRow, Math.max(limits.fewestPerRow, perRow)) };
}

/** Memory for the states of all requests, `stateBytes` each. */
export function statesMemory(stateBytes: number, slots: number): number {
  return stateBytes * (runningStates * slots + keptStates(stateBytes, slots).total);
}
