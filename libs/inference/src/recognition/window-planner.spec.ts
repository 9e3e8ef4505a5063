import { describe, expect, it } from 'vitest';
import { planWindow, type PlanRequest } from './window-planner.js';

const second = 16_000;

/** All numbers in seconds. */
function plan(spans: [number, number][], request: { length?: number; isLast?: boolean; max?: number } = {}) {
  const { length = 30, isLast = false, max = 30 } = request;
  const options: PlanRequest = {
    spans: spans.map(([start, end]) => ({ start: start * second, end: end * second })),
    samples: length * second,
    isLast,
    maxSamples: max * second,
  };
  const found = planWindow(options);
  const seconds = (value: number) => value / second;
  return found.kind === 'skip'
    ? { skip: seconds(found.consumed) }
    : { from: seconds(found.start), to: seconds(found.end), next: seconds(found.consumed), isCut: found.isCut };
}

describe('the next window', () => {
  it('is none in silence, whose end may be the beginning of a word', () => {
    expect(plan([])).toEqual({ skip: 29.5 });
    expect(plan([], { isLast: true, length: 7 })).toEqual({ skip: 7 });
  });

  it('waits for the rest of speech that begins late and continues', () => {
    expect(plan([[20, 30]])).toEqual({ skip: 20 });
    expect(plan([[20, 30]], { isLast: true })).toEqual({ from: 20, to: 30, next: 30, isCut: false });
  });

  it('contains all speech that ends within the block', () => {
    expect(
      plan([
        [0, 5],
        [7, 12],
      ]),
    ).toEqual({ from: 0, to: 12, next: 12, isCut: false });
    expect(plan([[3, 5]], { isLast: true, length: 9 })).toEqual({ from: 3, to: 5, next: 9, isCut: false });
  });

  it('ends in the last pause of continuing speech', () => {
    expect(
      plan([
        [0, 8],
        [9, 22],
        [23, 30],
      ]),
    ).toEqual({ from: 0, to: 22, next: 22, isCut: false });
  });

  it('cuts speech that has no pause, or only an early one', () => {
    expect(plan([[0, 30]])).toEqual({ from: 0, to: 30, next: 30, isCut: true });
    expect(
      plan([
        [0, 4],
        [5, 30],
      ]),
    ).toEqual({ from: 0, to: 30, next: 30, isCut: true });
  });

  it('is no longer than the model supports, whatever the block contains', () => {
    expect(plan([[0, 28]], { isLast: true, length: 28, max: 20 })).toEqual({ from: 0, to: 20, next: 20, isCut: true });
    expect(
      plan(
        [
          [0, 13],
          [14, 28],
        ],
        { isLast: true, length: 28, max: 20 },
      ),
    ).toEqual({
      from: 0,
      to: 13,
      next: 13,
      isCut: false,
    });
  });

  it('always advances, for any speech in a block of any length', () => {
    for (let seed = 0; seed < 500; seed++) {
      const spans: [number, number][] = [];
      let at = (seed % 7) / 2;
      for (let index = 0; at < 28; index++) {
        const end = Math.min(30, at + 0.2 + ((seed * (index + 3)) % 97) / 8);
        spans.push([at, end]);
        at = end + 0.3 + ((seed + index) % 11) / 5;
      }
      for (const isLast of [true, false]) {
        for (const max of [20, 30]) {
          const found = plan(spans, { isLast, max });
          const next = 'skip' in found ? found.skip : found.next;
          expect(next).toBeGreaterThan(0);
          if (!('skip' in found)) {
            expect((found.to ?? 0) - (found.from ?? 0)).toBeLessThanOrEqual(max);
            expect(found.to).toBeLessThanOrEqual(next ?? 0);
          }
        }
      }
    }
  });
});
