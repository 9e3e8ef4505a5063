import { totalmem } from 'node:os';

/**
 * Returns the main memory of this process in bytes: the cgroup limit, or the physical memory. Only tests pass the two
 * values.
 */
export function mainMemoryBytes({ built = totalmem(), allowed = process.constrainedMemory() } = {}): number {
  // Without a limit it is 0, undefined, or larger than the physical memory.
  return Math.min(built, allowed || built);
}
