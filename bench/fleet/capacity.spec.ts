import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { busyCores, capacityTable, costMs, modelWorkers, neededCores, workerTable } from './capacity.js';

const text = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

/** Rows of Markdown tables without the spaces that line them up. */
function rowsOf(page: string): string[] {
  const rows = page.split('\n').filter((line) => line.startsWith('|') && !/^[|: -]+$/.test(line));
  return rows.map((row) => row.replaceAll(/ +/g, ' '));
}

describe('the capacity of a fleet', () => {
  it('follows from the time of a request', () => {
    // 10,000 a minute are 166.7 a second; of 0.642 ms each they keep 0.11 cores busy.
    expect(busyCores('api', 10_000)).toBeCloseTo(0.107, 4);
    expect(neededCores('api', 10_000)).toBe(2);
    expect(neededCores('api', 1_000_000)).toBe(18);
    expect(neededCores('postgres', 1_000_000)).toBe(33);
    // 166.7 answers of 200 tokens a second, 172 of them a worker, which is busy for six tenths of its time.
    expect(modelWorkers(10_000)).toBe(323);
  });

  it('stands in docs/scaling.md as it is computed', () => {
    const page = rowsOf(text('docs/scaling.md'));
    for (const row of rowsOf(`${capacityTable()}\n${workerTable()}`)) expect(page).toContain(row);
  });

  it('begins with what docs/performance.md says of a request', () => {
    const [, postgres, api, worker, ops, redis] =
      /PostgreSQL ([\d.]+), api ([\d.]+), worker ([\d.]+), ops ([\d.]+), Redis ([\d.]+)/.exec(
        text('docs/performance.md').replaceAll(/\s+/g, ' '),
      ) ?? [];
    const rounded = Object.fromEntries(Object.entries(costMs).map(([part, ms]) => [part, ms.toFixed(1)]));
    expect({ api, ops, worker, postgres, redis }).toEqual(rounded);
  });
});
