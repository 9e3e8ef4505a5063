import type { Heartbeat } from '../contract/heartbeat.js';
import type { AffinityOptions } from '../contract/transport.js';
import { AffinityRouter } from './affinity-router.js';
import { StickyAssigner, type StickyAssignerDependencies } from './sticky-assigner.js';

/** Returns null without options: no job is sticky then. */
export function openStickyAssigner(
  options: AffinityOptions | undefined,
  { workers, ...dependencies }: Pick<StickyAssignerDependencies, 'claims' | 'release'> & { workers(): Heartbeat[] },
): StickyAssigner | null {
  if (options === undefined) return null;
  return new StickyAssigner({ ...options, ...dependencies, router: new AffinityRouter(workers) });
}
