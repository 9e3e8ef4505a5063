import { it } from 'vitest';
import type { PlatformOptions } from './platform-options.js';
import { redisAvailable } from './redis.js';

export type Transport = NonNullable<PlatformOptions['transport']>;

/** Steps of `npm run nightly` set it: every test on every queue. */
export const isFull = process.env.SLUICE_TEST_FULL === 'true';

/**
 * The queues that an e2e suite runs on: the named one by default, both in full, PostgreSQL alone without a
 * `redis-server`. For suites whose subject is not the queue; the transports, the ledger and the limits have tests of
 * their own on both.
 */
export function transportsFor(byDefault: Transport): readonly Transport[] {
  if (!redisAvailable) return ['postgres'];
  return isFull ? ['postgres', 'redis'] : [byDefault];
}

/** Registers a test in full, and none otherwise: slow ones, of what other tests hold in part or what rarely changes. */
export const itInFull: (name: string, test: () => Promise<void>, timeoutMs?: number) => void = isFull
  ? it
  : () => undefined;
