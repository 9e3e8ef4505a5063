/** What some work did to the event loop and the heap. */
export interface LoopSilence {
  /** Most processor time of the process between two turns of the loop, in ms. */
  longestMs: number;
  /** Largest growth of the heap that was seen between two turns, in MiB. */
  heapMiB: number;
  /** Processor time of all, in ms. */
  totalMs: number;
}

/**
 * Measures how long the work keeps the event loop from turning, in processor time: that of a busy machine does not
 * count. Threads of the process count, so that nothing else may run in it.
 */
export async function measureSilence(work: () => Promise<unknown>): Promise<LoopSilence> {
  const begun = process.cpuUsage();
  const heapBefore = process.memoryUsage().heapUsed;
  let last = process.cpuUsage();
  let longestMs = 0;
  let heapBytes = 0;
  let isDone = false;
  const look = (): void => {
    longestMs = Math.max(longestMs, msSince(last));
    heapBytes = Math.max(heapBytes, process.memoryUsage().heapUsed - heapBefore);
    last = process.cpuUsage();
  };
  const turn = (): void => {
    look();
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await work();
  } finally {
    isDone = true;
    look();
  }
  return { longestMs, heapMiB: heapBytes / 2 ** 20, totalMs: msSince(begun) };
}

function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
