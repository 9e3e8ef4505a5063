import { expect, it } from 'vitest';
import { FoldUsageSweep } from './fold-usage.sweep.js';
import type { UsageFoldRepository } from './usage-fold.repository.js';

const hour = 3_600_000;

it('folds less at once after the database cancelled a statement, until it has caught up', async () => {
  const spans: number[] = [];
  let capacityMs = hour;
  let left = 3;
  const fold = async ({ spanMs }: { spanMs: number }): Promise<boolean> => {
    spans.push(spanMs);
    if (spanMs > capacityMs) throw new Error('canceling statement due to statement timeout');
    left -= 1;
    return left > 0;
  };
  let now = 0;
  const clock = { now: () => now, monotonicMs: () => now };
  const sweep = new FoldUsageSweep({ fold } as unknown as UsageFoldRepository, clock as never);
  await expect(sweep.run()).rejects.toThrow('timeout');
  expect(await sweep.run()).toBe(2);
  expect(spans).toEqual([6 * hour, hour, hour, hour]);
  now += hour;
  capacityMs = 6 * hour;
  left = 1;
  await sweep.run();
  expect(spans.at(-1)).toBe(6 * hour);
});
