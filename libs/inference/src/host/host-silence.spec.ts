import { describe, expect, it } from 'vitest';
import { addInterval, isDead, noSilence, type Silence } from './host-silence.js';
import type { ProcessActivity } from './process-activity.js';

const limitMs = 15_000;
const none: ProcessActivity = { cpuMs: 0, waitedMs: 0, pageReads: 0, isRunnable: false };

/** Returns how long a host that does this in every second stays silent until it counts as dead, in s; null: never. */
function secondsUntilDead(perSecond: Partial<ProcessActivity> | null, { atMost = 3_600 } = {}): number | null {
  let silence: Silence = noSilence;
  let before: ProcessActivity | null = perSecond && { ...none, isRunnable: perSecond.isRunnable ?? false };
  for (let second = 1; second <= atMost; second++) {
    const after = before && {
      cpuMs: before.cpuMs + (perSecond?.cpuMs ?? 0),
      waitedMs: before.waitedMs + (perSecond?.waitedMs ?? 0),
      pageReads: before.pageReads + (perSecond?.pageReads ?? 0),
      isRunnable: before.isRunnable,
    };
    silence = addInterval(silence, { ms: 1_000, before, after });
    before = after;
    if (isDead(silence, limitMs)) return second;
  }
  return null;
}

describe('a silent host counts as dead', () => {
  it('after the limit if it is blocked or stopped: it uses no processor and wants none', () => {
    expect(secondsUntilDead({})).toBe(15);
    expect(secondsUntilDead({ cpuMs: 1 })).toBe(16);
  });

  it('after the limit where nothing can be read', () => {
    expect(secondsUntilDead(null)).toBe(15);
  });

  it('after four times the limit if it computes, on one processor or on many', () => {
    expect(secondsUntilDead({ cpuMs: 1_000, isRunnable: true })).toBe(60);
    expect(secondsUntilDead({ cpuMs: 16_000, isRunnable: true })).toBe(60);
  });

  it('after forty times the limit if it is starved of processor, by threads or as a whole', () => {
    expect(secondsUntilDead({ cpuMs: 20, waitedMs: 980, isRunnable: true })).toBe(600);
    // Two threads that want to run all the time.
    expect(secondsUntilDead({ cpuMs: 20, waitedMs: 1_980, isRunnable: true })).toBe(600);
    // The kernel counts the wait of a thread when it is over.
    expect(secondsUntilDead({ isRunnable: true })).toBe(600);
  });

  it('as late if it waits for pages of its memory', () => {
    expect(secondsUntilDead({ cpuMs: 5, pageReads: 40 })).toBe(600);
  });

  it('later than a busy one if it gets half of what it wants', () => {
    expect(secondsUntilDead({ cpuMs: 500, waitedMs: 500, isRunnable: true })).toBe(120);
  });

  it('after an hour at the latest, or after a longer limit', () => {
    const starved = (ms: number): Silence => ({ idleMs: 0, busyMs: 0, starvedMs: ms });
    expect([isDead(starved(3_599_999), 120_000), isDead(starved(3_600_000), 120_000)]).toEqual([false, true]);
    expect(isDead({ idleMs: 7_000_000, busyMs: 0, starvedMs: 0 }, 7_200_000)).toBe(false);
  });
});

describe('addInterval', () => {
  it('divides an interval by what the process did in it', () => {
    const after = { ...none, cpuMs: 100, waitedMs: 300 };
    expect(addInterval(noSilence, { ms: 1_000, before: none, after })).toEqual({
      idleMs: 600,
      busyMs: 100,
      starvedMs: 300,
    });
  });

  it('survives a thread that ended and took its count along', () => {
    const before = { ...none, cpuMs: 50, waitedMs: 900 };
    const after = { ...none, cpuMs: 50, waitedMs: 200 };
    expect(addInterval(noSilence, { ms: 1_000, before, after })).toEqual({ idleMs: 1_000, busyMs: 0, starvedMs: 0 });
  });
});
