import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { redisAvailable, startRedis } from '#test/redis';

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

  it('gives keys alone where the queue is on PostgreSQL', async () => {
    const environment = { SLUICE_QUEUE_URL: 'postgresql://worker@host/database', SLUICE_QUEUE_KEY: key };
    const printed = JSON.parse(await runCommandLine([...line, '--json'], environment)) as Printed;
    expect([printed.queueUrl, printed.aclLine]).toEqual([environment.SLUICE_QUEUE_URL, null]);
  });
});
