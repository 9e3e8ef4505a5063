import { it } from 'vitest';
import { redisAvailable } from './redis.js';

export type Transport = 'postgres' | 'redis';

/** `npm run nightly -- full`: every integration and e2e test, on every queue. */
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

/** `it` in full, and nothing otherwise: for slow tests of what a faster one, or a fault test, holds in every run. */
export function itInFull(name: string, test: () => Promise<void>, timeoutMs?: number): void {
  // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- a wrapper: its callers have both
  if (isFull) it(name, test, timeoutMs);
}
