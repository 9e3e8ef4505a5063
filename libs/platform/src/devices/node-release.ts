/** Last day of security updates by major version, from the schedule of the Node.js release group. */
const lastDays: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
  26: '2029-04-30',
};

/** Returns a sentence if this version of Node no longer gets security updates, else null; null for unknown versions. */
export function outdatedNode(version: string, now: Date): string | null {
  const major = Number(/^v?(\d+)\./.exec(version)?.[1]);
  const lastDay = lastDays[major];
  if (lastDay === undefined || now.getTime() <= Date.parse(`${lastDay}T23:59:59Z`)) return null;
  return `Node ${major} has received no security updates since ${lastDay}. Use Node 22 or 24.`;
}
