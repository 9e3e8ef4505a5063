import type { StoreFinding } from '#platform/health';

/** Offset of two clocks that is reported, in ms: deadlines are written by one and read by another. */
const maxClockOffsetMs = 2_000;

/** Reports a server whose clock differs from that of this machine; null: its clock was not measured. */
export function clockFinding(server: string, offsetMs: number | null): StoreFinding[] {
  if (offsetMs === null || Math.abs(offsetMs) <= maxClockOffsetMs) return [];
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1);
  const text = `The clock of ${server} is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine: synchronize both.`;
  return [{ store: 'clock', severity: 'problem', text }];
}
