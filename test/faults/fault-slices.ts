import { deterministicWords } from '#test/deterministic-engine';
import type { Platform } from '#test/platform';
import { askWhole, contentOf } from './chat-caller.js';
import { lockMs } from './fault-scene.js';
import { chatCostNano, type JobBooks } from './job-books.js';
import { mediaSlices } from './media-slices.js';

/** One kind of work for the tests that kill workers. A slice joins `faultSlices` with one line. */
export interface FaultSlice {
  name: string;
  /** How long a worker owns such a job without renewing. */
  lockMs: number;
  /**
   * Sends one request that works for about `durationMs` and resolves when the caller holds the whole result, which it
   * checks. `text` makes each request another. `costNano` says what it must have cost.
   */
  run(
    platform: Platform,
    wish: { durationMs: number; text: string },
  ): Promise<{ requestId: string; costNano: (books: JobBooks) => bigint }>;
}

const chatSlice: FaultSlice = {
  name: 'chat',
  lockMs,
  async run(platform, { durationMs, text }) {
    const tokens = 40;
    const directives = `tokens=${tokens} delay=${Math.round(durationMs / tokens)}`;
    const { requestId, status, text: answer } = await askWhole(platform, { directives, text });
    const expected = deterministicWords(`user: ${contentOf({ directives, text })}`, { count: tokens }).join('');
    if (status !== 200 || answer !== expected) throw new Error(`${requestId}: ${status} with ${String(answer)}`);
    return { requestId, costNano: chatCostNano };
  },
};

export const faultSlices: readonly FaultSlice[] = [chatSlice, ...mediaSlices];
