import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { readinessOf } from './api-readiness.js';

const databaseUrl = 'postgresql://user:secret@127.0.0.1:9/sluice';
const away = () => Promise.reject(new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check rate limits.'));
const here = () => Promise.resolve();

/** The checks, where nothing but the database and the limits is away. */
async function checksOf(config: { queueUrl: string; limitsRedisUrl: string | null; rateLimits?: boolean }) {
  const logger = createLogger('api', { stream: new Writable({ write: (_chunk, _encoding, done) => done() }) });
  const sources = {
    prisma: { ping: here },
    migrations: { check: away },
    transport: { ping: here },
    artifacts: { ping: here },
    logger,
  };
  const settings = { rateLimits: true, ...config };
  return (await readinessOf(settings, { ...sources, limitStore: { ping: away } }).report()).checks;
}

describe('readinessOf', () => {
  it('asks the Redis of the limits where that is not the one of the queue', async () => {
    const apart = { queueUrl: 'redis://queue:6379', limitsRedisUrl: 'redis://limits:6379' };
    expect(await checksOf(apart)).toMatchObject({ queue: 'ok', limits: 'unavailable' });
    expect(await checksOf({ ...apart, queueUrl: databaseUrl })).toMatchObject({ limits: 'unavailable' });
  });

  it.each([
    ['live in the Redis of the queue', { queueUrl: 'redis://one:6379', limitsRedisUrl: 'redis://one:6379' }],
    ['live in the database', { queueUrl: databaseUrl, limitsRedisUrl: null }],
    ['hold nobody', { queueUrl: databaseUrl, limitsRedisUrl: 'redis://limits:6379', rateLimits: false }],
  ])('asks nothing of limits that %s', async (_where, config) => {
    expect(await checksOf(config)).not.toHaveProperty('limits');
  });
});
