import { formatBytes } from '#model-store';
import { mainMemoryBytes } from '#platform/devices';

/** PostgreSQL, api, worker, ops and a small model take this together. */
const enoughBytes = 1.5e9;

/**
 * Returns what to say on a machine, or in a container, on which the kernel is likely to end processes of Sluice. Null:
 * it has enough memory.
 */
export function noteOnMemory(bytes = mainMemoryBytes()): string | null {
  if (bytes >= enoughBytes) return null;
  return (
    `this machine or container has ${formatBytes(bytes)} of memory, and Sluice takes about ${formatBytes(enoughBytes)} with ` +
    'a small model: give it more, or expect processes that end with SIGKILL and start again'
  );
}
