import type { ProcessActivity } from './process-activity.js';

/*
 * Decides whether a silent host is dead. Slow is not dead: a host that waits for a processor sends nothing either, and
 * loading it again would take more of what is short. Pure functions of what was measured.
 */

/** How a host has spent its silence, in ms. */
export interface Silence {
  /** It neither ran nor wanted to: it is blocked, or was stopped. */
  idleMs: number;
  /** It used a processor: in a long run, or in an endless loop. */
  busyMs: number;
  /** It could have run and got no processor, or waited for pages of its memory. */
  starvedMs: number;
}

export const noSilence: Silence = { idleMs: 0, busyMs: 0, starvedMs: 0 };

/** A host may compute for so many times longer than it may be idle. */
const busyFactor = 4;
/** No silence lasts longer than so many times the limit, or than `longestMs` if that is more than the limit. */
const totalFactor = 40;
const longestMs = 3_600_000;

/**
 * Adds an interval to a silence: divides it by what the process did between two readings. Without readings, as on
 * systems without `/proc`, the whole interval counts as idle.
 */
export function addInterval(
  silence: Silence,
  { ms, before, after }: { ms: number; before: ProcessActivity | null; after: ProcessActivity | null },
): Silence {
  if (before === null || after === null) return { ...silence, idleMs: silence.idleMs + ms };
  const cpuMs = Math.max(0, after.cpuMs - before.cpuMs);
  // Less than before if a thread has ended.
  const waitedMs = Math.max(0, after.waitedMs - before.waitedMs);
  // Both are sums over threads; together they tell which share of the time in which it wanted to run it did run.
  const activeMs = Math.min(ms, cpuMs + waitedMs);
  const busyMs = activeMs === 0 ? 0 : activeMs * (cpuMs / (cpuMs + waitedMs));
  // The kernel counts a wait when it is over.
  const stillWaits = (before.isRunnable && after.isRunnable) || after.pageReads > before.pageReads;
  const restMs = ms - activeMs;
  return {
    idleMs: silence.idleMs + (stillWaits ? 0 : restMs),
    busyMs: silence.busyMs + busyMs,
    starvedMs: silence.starvedMs + (activeMs - busyMs) + (stillWaits ? restMs : 0),
  };
}

/**
 * True when a host counts as dead: it was idle for `limitMs`, or computed for four times as long, or a mixture of both;
 * at the latest after forty times as long or an hour, whichever is less.
 */
export function isDead({ idleMs, busyMs, starvedMs }: Silence, limitMs: number): boolean {
  const totalMs = idleMs + busyMs + starvedMs;
  const totalLimitMs = Math.max(limitMs, Math.min(totalFactor * limitMs, longestMs));
  return idleMs + busyMs / busyFactor >= limitMs || totalMs >= totalLimitMs;
}

/** Describes a silence for the log. */
export function describeSilence({ idleMs, busyMs, starvedMs }: Silence): string {
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
  return `idle for ${seconds(idleMs)}, busy for ${seconds(busyMs)}, starved for ${seconds(starvedMs)}`;
}
