import { expectInvariant } from './invariant.js';
import type { Platform } from './platform.js';

/**
 * Ends a platform after its tests: within `withinMs` no job may be open any more, and the books must be sound. Stops it in
 * any case. Nothing to do where it never started.
 */
export async function stopAudio(platform: Platform | undefined, withinMs?: number): Promise<void> {
  if (platform === undefined) return;
  try {
    await platform.closedJobs(withinMs);
    await expectInvariant(platform);
  } finally {
    await platform.stop();
  }
}
