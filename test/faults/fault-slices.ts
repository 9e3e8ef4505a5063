import { deterministicWords } from '#test/deterministic-engine';
import type { Platform } from '#test/platform';
import { askWhole, contentOf } from './chat-caller.js';

/** One kind of work for the tests that kill workers. A slice joins `faultSlices` with one line. */
export interface FaultSlice {
  name: string;
  /**
   * Sends one request that works for about `durationMs` and resolves when the caller holds the whole result, which it
   * checks. `text` makes each request another.
   */
  run(platform: Platform, wish: { durationMs: number; text: string }): Promise<{ requestId: string }>;
}

const chatSlice: FaultSlice = {
  name: 'chat',
  async run(platform, { durationMs, text }) {
    const tokens = 40;
    const directives = `tokens=${tokens} delay=${Math.round(durationMs / tokens)}`;
    const { requestId, status, text: answer } = await askWhole(platform, { directives, text });
    const expected = deterministicWords(`user: ${contentOf({ directives, text })}`, { count: tokens }).join('');
    if (status !== 200 || answer !== expected) throw new Error(`${requestId}: ${status} with ${String(answer)}`);
    return { requestId };
  },
};

export const faultSlices: readonly FaultSlice[] = [chatSlice];
