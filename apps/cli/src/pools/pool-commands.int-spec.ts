import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { createTestDatabase } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { isAllowed, type S3Policy } from '#test/s3-policy';

const key = 'ab'.repeat(32);
const line = ['pools', 'credentials', 'text', '--models', 'a,b'];

interface Printed {
  queueUrl: string;
  queueKey: string;
  aclLine: string;
}

describe.skipIf(!redisAvailable)('sluice pools credentials', () => {
  it('creates a user that may use the queues of the models, the same one each time', async () => {
    const server = await startRedis();
    const environment = { REDIS_URL: server.url, SLUICE_QUEUE_KEY: key };
    try {
      const printed = JSON.parse(await runCommandLine([...line, '--json'], environment)) as Printed;
      const text = await runCommandLine(line, environment);
      expect(text).toContain(`SLUICE_QUEUE_URL=${printed.queueUrl}\nSLUICE_QUEUE_KEY=${printed.queueKey}\n`);
      expect(printed.queueKey).toMatch(/^a:[0-9a-f]{64},b:[0-9a-f]{64}$/);
      expect(printed.aclLine).toMatch(/^user sluice-pool-text on >/);
      const client = new Redis(printed.queueUrl);
      expect(await client.get('sluice:chat.a:meta')).toBeNull();
      await expect(client.get('sluice:chat.c:meta')).rejects.toThrow('NOPERM');
      client.disconnect();
    } finally {
      await server.close();
    }
  });

  it.each([
    ['SLUICE_QUEUE_KEY', { REDIS_URL: 'redis://127.0.0.1:1' }],
    ['SLUICE_QUEUE_KEY', { REDIS_URL: 'redis://127.0.0.1:1', SLUICE_QUEUE_KEY: `a:${key}` }],
    ['REDIS_URL', { SLUICE_QUEUE_KEY: key }],
  ])('names what is missing: %s', async (variable, environment: Record<string, string>) => {
    await expect(runCommandLine(line, environment)).rejects.toThrow(variable);
  });

  it('prints what the storage user of the pool may do: the artifacts of its models', async () => {
    const environment = { SLUICE_STORAGE_URL: 's3://media/sluice' };
    const policy = JSON.parse(await runCommandLine([...line, '--storage-policy'], environment)) as S3Policy;
    const request = (url: string, method = 'GET') => ({ method, url, headers: {} });
    const [scope = ''] = /[0-9a-f]{12}/.exec(policy.Statement[0]?.Resource[0] ?? '') ?? [];
    expect(isAllowed(policy, request(`/media/sluice/${scope}-00000001/r1`))).toBe(true);
    expect(isAllowed(policy, request(`/media/${scope}-00000001/r1`))).toBe(false);
    expect(isAllowed(policy, request(`/media/sluice/${'0'.repeat(12)}-00000001/r1`))).toBe(false);
    expect(isAllowed(policy, request('/media?list-type=2'))).toBe(false);
    await expect(runCommandLine([...line, '--storage-policy'], {})).rejects.toThrow('SLUICE_STORAGE_URL');
  });

  it('creates a role of PostgreSQL where the queue is there, the same one each time', async () => {
    const { url, drop } = await createTestDatabase();
    const environment = { DATABASE_URL: url, SLUICE_QUEUE_KEY: key };
    try {
      const printed = JSON.parse(await runCommandLine([...line, '--json'], environment)) as Printed;
      const text = await runCommandLine(line, environment);
      expect(text).toContain(`SLUICE_QUEUE_URL=${printed.queueUrl}\nSLUICE_QUEUE_KEY=${printed.queueKey}\n`);
      expect(printed.aclLine).toBeNull();
      const client = new pg.Client(printed.queueUrl);
      await client.connect();
      const { rows } = await client.query('SELECT current_user AS name');
      expect(rows).toEqual([{ name: expect.stringMatching(/^sluice_pool_text_[0-9a-f]{8}$/) }]);
      await expect(client.query('CREATE TABLE sluice_queue.mine (id int)')).rejects.toThrow('permission denied');
      await client.query(`SELECT * FROM sluice_queue.job`);
      await client.end();
    } finally {
      await drop();
    }
  });
});
