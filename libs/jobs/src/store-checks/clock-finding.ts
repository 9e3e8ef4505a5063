import type { StoreFinding } from '#platform/health';

/** The offset of two clocks from which it is reported, in ms: one clock writes deadlines and the other reads them. */
const maxClockOffsetMs = 2_000;

/** Reports a server whose clock differs from that of this machine. The offset is null when it was not measured. */
export function clockFinding(server: string, offsetMs: number | null): StoreFinding[] {
  if (offsetMs === null || Math.abs(offsetMs) <= maxClockOffsetMs) return [];
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1);
  const text = `The clock of ${server} is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine: synchronize both.`;
  return [{ store: 'clock', severity: 'problem', text }];
}
