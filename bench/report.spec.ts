import { describe, expect, it } from 'vitest';
import { formatTable, percentile, runInterleaved } from './report.js';

describe('bench report', () => {
  it('interleaves the subjects, rotates who starts a round, and drops warm-up runs', async () => {
    const order: string[] = [];
    const subject = (name: string) => ({
      name,
      run: async (round: number) => {
        order.push(name + round);
        return { value: round };
      },
    });
    const results = await runInterleaved([subject('a'), subject('b')], { rounds: 3, warmups: 1 });
    expect(order).toEqual(['b-1', 'a-1', 'a0', 'b0', 'b1', 'a1', 'a2', 'b2']);
    expect(results[0]).toEqual({ name: 'a', rounds: 3, figures: { value: { median: 1, min: 0, max: 2 } } });
  });

  it('closes all subjects when one fails', async () => {
    let closed = 0;
    const close = async () => {
      closed += 1;
    };
    const broken = { name: 'a', run: () => Promise.reject(new Error('no')), close };
    await expect(runInterleaved([broken, { ...broken, name: 'b' }], { rounds: 1, warmups: 0 })).rejects.toThrow('no');
    expect(closed).toBe(2);
  });

  it('interpolates percentiles', () => {
    expect(percentile([4, 1, 3, 2], 50)).toBe(2.5);
    expect(percentile([7], 99)).toBe(7);
    expect(percentile([], 50)).toBeNaN();
  });

  it('aligns tables', () => {
    expect(
      formatTable(
        ['name', 'ms'],
        [
          ['a', '1'],
          ['longer', '1,000'],
        ],
      ),
    ).toBe(['| name   |    ms |', '|--------|------:|', '| a      |     1 |', '| longer | 1,000 |'].join('\n'));
  });
});
