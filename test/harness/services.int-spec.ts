import { describe, expect, it } from 'vitest';
import pg from 'pg';
import { createTestDatabase } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { Redis } from 'ioredis';

describe('the shared services', () => {
  it('give each suite an empty database of its own', async () => {
    const [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    const client = new pg.Client({ connectionString: first.url });
    await client.connect();
    const rows = await client.query<{ name: string }>('SELECT current_database() AS name');
    await client.end();
    expect(new URL(first.url).pathname).toBe(`/${rows.rows[0]?.name}`);
    expect(first.url).not.toBe(second.url);
    await Promise.all([first.drop(), second.drop()]);
  });

  it.runIf(redisAvailable)('restart a stopped redis with its data when it appends', async () => {
    const redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const client = new Redis(redis.url);
    client.on('error', () => undefined);
    try {
      await client.set('kept', 'yes');
      await redis.stop();
      await redis.start();
      expect(await client.get('kept')).toBe('yes');
    } finally {
      client.disconnect();
      await redis.close();
    }
  });
});
