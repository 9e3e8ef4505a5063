import { totalmem } from 'node:os';

/**
 * Bytes of main memory that this process may take: what its cgroup allows, else what is built in. A caller gives none of
 * the two figures; tests do.
 */
export function mainMemoryBytes({ built = totalmem(), allowed = process.constrainedMemory() } = {}): number {
  // Without a limit it says 0, nothing, or more than there is.
  return Math.min(built, allowed || built);
}
