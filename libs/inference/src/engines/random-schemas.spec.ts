import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runRandomSchemas } from '#test/random-schemas';

/* `npm test -- schemas` does the same for 2,000 schemas, others every day. */

describe('a model of random weights', () => {
  it('writes only texts that an independent validator accepts, for 300 random schemas', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'schemas-'));
    try {
      const result = await runRandomSchemas(folder, { count: 300, seed: 1 });
      expect(result.failures).toEqual([]);
      expect(result.finished + result.cut + result.refused).toBe(300);
      expect(result.finished).toBeGreaterThan(100);
      expect(result.refused).toBeLessThan(60);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }, 120_000);
});
