import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { testDouble } from '#test/test-double';
import { ApiReadiness } from './api-readiness.js';

const databaseUrl = 'postgresql://user:secret@127.0.0.1:9/sluice';
const unavailable = () =>
  Promise.reject(new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check rate limits.'));
const available = () => Promise.resolve();

/** The readiness of an api whose limit store is down, and other stores as `down` says. */
function readinessOf(
  config: { queueUrl: string; limitsRedisUrl: string | null; rateLimits?: boolean },
  down: { queue?: boolean; database?: boolean } = {},
) {
  const logger = createLogger('api', { stream: new Writable({ write: (_chunk, _encoding, done) => done() }) });
  const ping = (store: 'queue' | 'database') => ({ ping: () => (down[store] === true ? unavailable() : available()) });
  const migrations = { check: () => (down.database === true ? unavailable() : available()) };
  const settings = { rateLimits: true, ...config };
  const [database, queue] = [ping('database'), ping('queue')];
  return new ApiReadiness(
    settings,
    testDouble(database),
    testDouble(migrations),
    testDouble(queue),
    testDouble({ ping: unavailable }),
    testDouble({ ping: available }),
    logger,
  );
}

/** Returns the checks while only the limit store is down. */
async function checksOf(config: Parameters<typeof readinessOf>[0]) {
  return (await readinessOf(config).report()).checks;
}

describe('ApiReadiness', () => {
  const config = { queueUrl: 'redis://queue:6379', limitsRedisUrl: null };

  it.each(['queue', 'database'] as const)(
    'stays ready while the %s is down, and not before it was up',
    async (store) => {
      const down = { [store]: true };
      const readiness = readinessOf(config, down);
      expect((await readiness.report()).status).toBe('unavailable');
      down[store] = false;
      expect((await readiness.report()).status).toBe('ok');
      down[store] = true;
      expect(await readiness.report()).toMatchObject({ status: 'ok', checks: { [store]: 'unavailable' } });
      expect((await readiness.dependencies()).status).toBe('unavailable');
    },
  );

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
