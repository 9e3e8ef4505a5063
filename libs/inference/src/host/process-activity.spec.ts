import { describe, expect, it } from 'vitest';
import { readProcessActivity } from './process-activity.js';

describe.runIf(process.platform === 'linux')('the activity of a process', () => {
  it('is its processor time, and that it runs now', () => {
    const before = readProcessActivity(process.pid);
    const start = process.cpuUsage();
    let usedMs = 0;
    while (usedMs < 200) usedMs = process.cpuUsage(start).user / 1_000;
    const after = readProcessActivity(process.pid);
    expect((after?.cpuMs ?? 0) - (before?.cpuMs ?? 0)).toBeGreaterThanOrEqual(150);
    expect(after?.waitedMs).toBeGreaterThanOrEqual(before?.waitedMs ?? Infinity);
    expect(after?.isRunnable).toBe(true);
  });

  it('is unknown for a process that is gone', () => {
    expect(readProcessActivity(2 ** 30)).toBeNull();
  });
});
