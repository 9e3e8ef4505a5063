import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { createReadiness } from './api-readiness.js';

const databaseUrl = 'postgresql://user:secret@127.0.0.1:9/sluice';
const unavailable = () =>
  Promise.reject(new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check rate limits.'));
const available = () => Promise.resolve();

/** Returns the checks while only the limit store is down. */
async function checksOf(config: { queueUrl: string; limitsRedisUrl: string | null; rateLimits?: boolean }) {
  const logger = createLogger('api', { stream: new Writable({ write: (_chunk, _encoding, done) => done() }) });
  const sources = {
    prisma: { ping: available },
    migrations: { check: unavailable },
    transport: { ping: available },
    artifacts: { ping: available },
    logger,
  };
  const settings = { rateLimits: true, ...config };
  return (await createReadiness(settings, { ...sources, limitStore: { ping: unavailable } }).report()).checks;
}

describe('createReadiness', () => {
  it('checks the limits Redis when it is not the queue Redis', async () => {
    const separate = { queueUrl: 'redis://queue:6379', limitsRedisUrl: 'redis://limits:6379' };
    expect(await checksOf(separate)).toMatchObject({ queue: 'ok', limits: 'unavailable' });
    expect(await checksOf({ ...separate, queueUrl: databaseUrl })).toMatchObject({ limits: 'unavailable' });
  });

  it.each([
    ['live in the Redis of the queue', { queueUrl: 'redis://one:6379', limitsRedisUrl: 'redis://one:6379' }],
    ['live in the database', { queueUrl: databaseUrl, limitsRedisUrl: null }],
    ['hold nobody', { queueUrl: databaseUrl, limitsRedisUrl: 'redis://limits:6379', rateLimits: false }],
  ])('skips the check for limits that %s', async (_where, config) => {
    expect(await checksOf(config)).not.toHaveProperty('limits');
  });
});
