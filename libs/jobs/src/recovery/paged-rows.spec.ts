import { describe, expect, it } from 'vitest';
import type { FoundJob } from '../lifecycle/jobs.repository.js';
import { LookDepth, maxPages, pagesOf } from './paged-rows.js';
import { repairAll } from './repair-all.js';

const rowsUpTo = (count: number) => Array.from({ length: count }, (_, place) => ({ positionAtMs: place }) as FoundJob);

/** Returns the sizes of the pages of that many rows. */
async function sizes(count: number, rows: number): Promise<number[]> {
  const read = async (max: number, after: FoundJob | null) =>
    rowsUpTo(count).slice((after?.positionAtMs ?? -1) + 1, (after?.positionAtMs ?? -1) + 1 + max);
  const found: number[] = [];
  for await (const page of pagesOf(read, { rows })) found.push(page.length);
  return found;
}

describe('pages of a check', () => {
  it('are read until one is short, up to a maximum', async () => {
    expect(await sizes(0, 3)).toEqual([]);
    expect(await sizes(7, 3)).toEqual([3, 3, 1]);
    expect(await sizes(6, 3)).toEqual([3, 3]);
    expect(await sizes(1_000, 1)).toHaveLength(maxPages);
  });

  it('are all read at first, while something appears lost, and twice a minute', () => {
    let nowMs = 0;
    const depth = new LookDepth({ nowMs: () => nowMs, monotonicMs: () => nowMs });
    const looks = [false, false, true, false].map((appearsLost) => depth.pages(appearsLost));
    expect(looks).toEqual([maxPages, 1, maxPages, 1]);
    nowMs = 30_000;
    expect([depth.pages(false), depth.pages(false)]).toEqual([maxPages, 1]);
  });
});

describe('rows of a sweep', () => {
  it('are repaired although one of them fails, which is logged', async () => {
    const repaired: number[] = [];
    const repair = async (row: number) => {
      if (row === 3) throw new Error('three cannot be');
      return repaired.push(row) > 0;
    };
    const rows = Array.from({ length: 50 }, (_, row) => row);
    const warned: unknown[] = [];
    const logger = { warn: (...words: unknown[]) => void warned.push(words) };
    expect(await repairAll(rows, { repair, logger })).toBe(49);
    expect({ repaired: repaired.length, warned: warned.length }).toEqual({ repaired: 49, warned: 1 });
  });

  it('are left for the next run when all of them fail', async () => {
    let tries = 0;
    const away = async () => {
      tries += 1;
      throw new Error('away');
    };
    const options = { repair: away, logger: { warn() {} } };
    await expect(repairAll(Array.from({ length: 1_000 }), options)).rejects.toThrow('away');
    expect(tries).toBeLessThan(50);
  });
});
