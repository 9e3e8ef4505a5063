import { describe, expect, it } from 'vitest';
import { RateMeter } from './rate-meter.js';

describe('RateMeter', () => {
  it('has no rate before there is one', () => {
    const meter = new RateMeter();
    expect([meter.live(0), meter.average()]).toEqual([null, null]);
    meter.add(1000);
    expect([meter.live(1100), meter.average()]).toEqual([null, null]);
  });

  it('shows the rate of the last seconds while the average keeps the whole', () => {
    const meter = new RateMeter();
    // Ten per second for five seconds, then one per second.
    for (let at = 0; at < 5000; at += 100) meter.add(at);
    expect(meter.live(4900)).toBeCloseTo(10, 0);
    for (let at = 5000; at <= 10_000; at += 1000) meter.add(at);
    expect(meter.live(10_000)).toBeCloseTo(1, 1);
    expect(meter.average()).toBeCloseTo(5.5, 1);
  });

  it('has no average of what came in one burst', () => {
    const meter = new RateMeter();
    for (let at = 0; at < 20; at += 1) meter.add(at);
    expect(meter.average()).toBeNull();
    meter.add(260);
    expect(meter.average()).toBeCloseTo(77, 0);
  });

  it('falls to zero when nothing arrives', () => {
    const meter = new RateMeter();
    meter.add(0, 10);
    meter.add(500, 10);
    expect(meter.live(500)).toBe(40);
    expect(meter.live(4000)).toBe(0);
    expect(meter.total).toBe(20);
  });
});
