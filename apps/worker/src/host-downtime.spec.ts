import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostDowntime } from './host-downtime.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const told: string[] = [];
  const downtime = new HostDowntime({
    waitMs: 30_000,
    onAway: () => void told.push('away'),
    onBack: () => void told.push('back'),
  });
  return { downtime, told };
}

describe('a host that died', () => {
  it('is waited for as long as requests wait, from its first death on', () => {
    const { downtime, told } = open();
    downtime.died();
    vi.advanceTimersByTime(20_000);
    downtime.died();
    vi.advanceTimersByTime(9_999);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect([downtime.isAway, downtime.failsAgainAndAgain]).toEqual([true, false]);
    downtime.died();
    downtime.cameBack();
    expect([downtime.isAway, told]).toEqual([false, ['away', 'back']]);
  });

  it('is waited for no more when it has failed to start three times', () => {
    const { downtime, told } = open();
    for (let death = 0; death < 5; death += 1) downtime.died();
    vi.advanceTimersByTime(60_000);
    expect([downtime.isAway, downtime.failsAgainAndAgain, told]).toEqual([true, true, ['away']]);
  });

  it('is not away when it is back in time, however often that happens', () => {
    const { downtime, told } = open();
    for (let time = 0; time < 5; time += 1) {
      downtime.died();
      vi.advanceTimersByTime(29_000);
      downtime.cameBack();
    }
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
  });

  it('tells nothing once its model is given up', () => {
    const { downtime, told } = open();
    downtime.died();
    downtime.stop();
    downtime.died();
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
  });
});
