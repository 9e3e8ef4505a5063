/** Processor time that synchronous work takes, in ms. Other processes of the machine do not count. */
export function processorMs(work: () => unknown): number {
  const begun = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
}
