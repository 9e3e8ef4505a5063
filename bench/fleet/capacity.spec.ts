import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { busyCores, capacityTable, costMs, modelWorkers, neededCores } from './capacity.js';

const text = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

/** Removes the alignment spaces of Markdown tables. */
function rowsOf(page: string): string[] {
  const rows = page.split('\n').filter((line) => line.startsWith('|') && !/^[|: -]+$/.test(line));
  return rows.map((row) => row.replaceAll(/ +/g, ' '));
}

describe('fleet capacity', () => {
  it('is derived from the CPU time of a request', () => {
    // 10,000 per minute are 166.7 per second; at 0.642 ms each they use 0.11 cores.
    expect(busyCores('api', 10_000)).toBeCloseTo(0.107, 4);
    expect(neededCores('api', 10_000)).toBe(2);
    expect(neededCores('api', 1_000_000)).toBe(18);
    expect(neededCores('postgres', 1_000_000)).toBe(33);
    // 166.7 responses of 200 tokens per second; a worker generates 172 tokens/s and is planned at 60% load.
    expect(modelWorkers(10_000)).toBe(323);
  });

  it('matches the tables in docs/operate/scaling.md', () => {
    const page = rowsOf(text('docs/operate/scaling.md'));
    for (const row of rowsOf(capacityTable())) expect(page).toContain(row);
  });

  it('matches the workers in docs/operate/scaling.md', () => {
    const [few, some, many] = [100, 10_000, 1_000_000].map((perMinute) =>
      modelWorkers(perMinute).toLocaleString('en-US'),
    );
    expect(text('docs/operate/scaling.md').replaceAll(/\s+/g, ' ')).toContain(
      `need ${few} such workers for 100 requests a minute, ${some} for 10,000 and ${many} for 1,000,000`,
    );
  });

  it('uses the request costs of docs/operate/performance.md', () => {
    const [, postgres, api, worker, ops, redis] =
      /PostgreSQL ([\d.]+), api ([\d.]+), worker ([\d.]+), ops ([\d.]+), Redis ([\d.]+)/.exec(
        text('docs/operate/performance.md').replaceAll(/\s+/g, ' '),
      ) ?? [];
    const rounded = Object.fromEntries(Object.entries(costMs).map(([part, ms]) => [part, ms.toFixed(1)]));
    expect({ api, ops, worker, postgres, redis }).toEqual(rounded);
  });
});
