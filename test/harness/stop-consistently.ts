import { expectInvariant } from './invariant.js';
import type { Platform } from './platform.js';

/**
 * Stops a platform after its tests: within `withinMs` no job may be open, and the ledger must be consistent. Always
 * stops it. No effect if it never started.
 */
export async function stopConsistently(platform: Platform | undefined, withinMs?: number): Promise<void> {
  if (platform === undefined) return;
  try {
    await platform.closedJobs(withinMs);
    await expectInvariant(platform);
  } finally {
    await platform.stop();
  }
}
