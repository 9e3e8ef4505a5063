import { describe, expect, it } from 'vitest';
import { summarizeRun } from './timing.js';

const steady = (startMs: number, firstMs: number, stepMs: number, tokens: number) => ({
  startMs,
  pieceMs: Array.from({ length: tokens }, (_, index) => firstMs + index * stepMs),
  tokens,
  promptTokens: 8,
});

describe('the summary of a run', () => {
  it('measures one stream by its own times', () => {
    const summary = summarizeRun([steady(0, 100, 10, 11)]);
    expect(summary.firstTokenP50Ms).toBe(100);
    expect(summary.decodeTokensPerSecond).toBeCloseTo(100);
    expect(summary.perStreamTokensPerSecond).toBeCloseTo(100);
    expect(summary.tokensPerSecond).toBeCloseTo(11 / 0.2);
  });

  it('measures decoding only while all streams decode', () => {
    // The second stream waits 100 ms for its prompt; from 200 to 300 ms both produce one token per 10 ms.
    const summary = summarizeRun([steady(0, 100, 10, 21), steady(0, 200, 10, 21)]);
    expect(summary.decodeTokensPerSecond).toBeCloseTo(200, 0);
  });

  it('spreads tokens over the pieces after the first', () => {
    const halved = { startMs: 0, pieceMs: [10, 30, 50], tokens: 5, promptTokens: 1 };
    expect(summarizeRun([halved]).perStreamTokensPerSecond).toBeCloseTo(100);
  });
});
