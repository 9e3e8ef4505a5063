import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** Raw queries, and Prisma's client API on a field or parameter named after it. */
const query =
  /\$(?:query|execute)Raw|\$prepared|\$transaction|\bprisma\.\w+\.(?:find|create|update|upsert|delete|count|aggregate|groupBy)/;

describe('services', () => {
  it('are injected with the database and leave its queries to their repositories', () => {
    const services = productSources.filter(
      (path) => path.endsWith('.service.ts') && !path.startsWith('libs/platform/'),
    );
    expect(services.length).toBeGreaterThan(5);
    expect(services.filter((path) => query.test(readText(path)))).toEqual([]);
  });
});
