import { describe, expect, it } from 'vitest';
import { fairTurn, type WaitingJob, worstWaits } from './fair-share.js';

const sizes = new Map([
  ['large', 6],
  ['small', 2],
]);
const jobs = (tier: string, count: number): WaitingJob[] =>
  Array.from({ length: count }, (_, index) => ({ tier, requestId: `${tier}-${index}` }));
const [large, small] = [jobs('large', 6), jobs('small', 2)];
const exact = { sizes, entered: [...large, ...small], enteringAtOnce: 0, lanes: 0 };

describe('a fair turn', () => {
  it('is one of each tier at a time, as long as it has any', () => {
    expect([1, 2, 3, 6].map((place) => fairTurn(sizes, place))).toEqual([2, 4, 5, 8]);
  });

  it('is observed when the tiers alternate', () => {
    const begun = large.flatMap((job, index) => [job, ...small.slice(index, index + 1)]);
    for (const { ratio } of worstWaits({ ...exact, begun })) expect(ratio).toBeLessThanOrEqual(1);
  });

  it('is violated when the small tier waits for the large one, or a job is skipped', () => {
    const behind = worstWaits({ ...exact, begun: [...large, ...small] });
    expect(behind.find(({ tier }) => tier === 'small')).toMatchObject({ turn: 7, fair: 2, ratio: 3.5 });
    const [first, ...others] = large;
    const passedOver = worstWaits({ ...exact, begun: [...others, ...small, ...(first === undefined ? [] : [first])] });
    expect(passedOver.find(({ tier }) => tier === 'large')?.ratio).toBe(4);
  });

  it('is never reached by a job that did not begin', () => {
    const waits = worstWaits({ ...exact, begun: large });
    expect(waits.find(({ tier }) => tier === 'small')?.ratio).toBe(Infinity);
  });
});
