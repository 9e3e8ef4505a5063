import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostDowntime } from './host-downtime.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const events: string[] = [];
  const downtime = new HostDowntime({
    waitMs: 30_000,
    onDown: () => void events.push('away'),
    onRecovered: () => void events.push('back'),
  });
  return { downtime, events };
}

describe('the downtime of a host', () => {
  it('starts at the first crash and lasts as long as requests wait', () => {
    const { downtime, events } = open();
    downtime.died();
    vi.advanceTimersByTime(20_000);
    downtime.died();
    vi.advanceTimersByTime(9_999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect([downtime.isDown, downtime.failsRepeatedly]).toEqual([true, false]);
    downtime.died();
    downtime.recovered();
    expect([downtime.isDown, events]).toEqual([false, ['away', 'back']]);
  });

  it('exceeds the limit after three failed starts', () => {
    const { downtime, events } = open();
    for (let death = 0; death < 5; death += 1) downtime.died();
    vi.advanceTimersByTime(60_000);
    expect([downtime.isDown, downtime.failsRepeatedly, events]).toEqual([true, true, ['away']]);
  });

  it('stays below the limit when the host is back in time, however often that happens', () => {
    const { downtime, events } = open();
    for (let time = 0; time < 5; time += 1) {
      downtime.died();
      vi.advanceTimersByTime(29_000);
      downtime.recovered();
    }
    vi.advanceTimersByTime(60_000);
    expect(events).toEqual([]);
  });

  it('reports nothing after the model was removed', () => {
    const { downtime, events } = open();
    downtime.died();
    downtime.stop();
    downtime.died();
    vi.advanceTimersByTime(60_000);
    expect(events).toEqual([]);
  });
});
