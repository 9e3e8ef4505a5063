import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyableLength, type Span, windowStart } from './window-positions.js';

const limits = { grain: 64, slack: 64, head: 1024 };
const lengths = fc.integer({ min: 0, max: 20_000 });
const windows = fc.integer({ min: 1, max: 5_000 });

describe('windowStart', () => {
  it('keeps all that the next token sees, and little more', () => {
    fc.assert(
      fc.property(lengths, windows, (length, window) => {
        const start = windowStart(length, window, limits);
        expect(start).toBeLessThanOrEqual(Math.max(0, length - window + 1));
        expect(length - start).toBeLessThan(window + limits.slack + limits.grain);
        expect(start % limits.grain).toBe(0);
      }),
    );
  });
});

/** The longest length up to `wanted` of which a span has all that is kept. */
function fromSpan({ start, length }: Span, wanted: number, window: number): number {
  for (let each = Math.min(wanted, length); each > start; each--) {
    if (windowStart(each, window, limits) >= start) return each;
  }
  return 0;
}

describe('copyableLength', () => {
  it('is the longest length whose window the row still has', () => {
    fc.assert(
      fc.property(lengths, windows, fc.double({ min: 0, max: 1, noNaN: true }), (length, window, share) => {
        const start = windowStart(length, window, limits);
        const spans = [
          { start: 0, length: Math.min(start, limits.head) },
          { start: windowStart(length >> 1, window, limits), length: length >> 1 },
          { start, length },
        ];
        const wanted = Math.floor(length * share);
        const copyable = copyableLength(wanted, spans, window, limits);
        const isHeld = (position: number) => spans.some((span) => span.start <= position && position < span.length);
        expect(copyable).toBeLessThanOrEqual(wanted);
        for (let position = windowStart(copyable, window, limits); position < copyable; position++) {
          if (!isHeld(position)) throw new Error(`Position ${position} is missing.`);
        }
        for (const span of spans) expect(copyable).toBeGreaterThanOrEqual(fromSpan(span, wanted, window));
      }),
      { numRuns: 50 },
    );
  });
});
