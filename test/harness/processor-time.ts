/**
 * Least processor time that synchronous work takes in up to three runs, in ms; the first run of less than `enoughMs` is the
 * last. Other processes of the machine do not count. Other threads of this one do, and a busy machine slows single runs.
 */
export function leastProcessorMs(enoughMs: number, work: () => unknown): number {
  let least = Infinity;
  for (let run = 0; run < 3 && least >= enoughMs; run++) {
    const begun = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begun);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
