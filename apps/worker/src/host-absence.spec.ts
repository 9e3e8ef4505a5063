import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostAbsence } from './host-absence.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const told: string[] = [];
  const absence = new HostAbsence({
    waitMs: 30_000,
    onAway: () => void told.push('away'),
    onBack: () => void told.push('back'),
  });
  return { absence, told };
}

describe('a host that died', () => {
  it('is waited for as long as requests wait, from its first death on', () => {
    const { absence, told } = open();
    absence.died();
    vi.advanceTimersByTime(20_000);
    absence.died();
    vi.advanceTimersByTime(9_999);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect([absence.isAway, absence.failsAgainAndAgain]).toEqual([true, false]);
    absence.died();
    absence.cameBack();
    expect([absence.isAway, told]).toEqual([false, ['away', 'back']]);
  });

  it('is waited for no more when it has failed to start three times', () => {
    const { absence, told } = open();
    for (let death = 0; death < 5; death += 1) absence.died();
    vi.advanceTimersByTime(60_000);
    expect([absence.isAway, absence.failsAgainAndAgain, told]).toEqual([true, true, ['away']]);
  });

  it('is not away when it is back in time, however often that happens', () => {
    const { absence, told } = open();
    for (let time = 0; time < 5; time += 1) {
      absence.died();
      vi.advanceTimersByTime(29_000);
      absence.cameBack();
    }
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
  });

  it('tells nothing once its model is given up', () => {
    const { absence, told } = open();
    absence.died();
    absence.stop();
    absence.died();
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
  });
});
