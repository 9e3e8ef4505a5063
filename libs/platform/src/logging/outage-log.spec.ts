import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OutageLog } from './outage-log.js';

const refused = () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:6379'), { code: 'ECONNREFUSED' });

describe('the log of an outage', () => {
  let lines: string[];
  let isAway: boolean;
  let log: OutageLog;

  beforeEach(() => {
    vi.useFakeTimers();
    lines = [];
    isAway = true;
    const probe = async () => {
      if (isAway) throw refused();
    };
    log = new OutageLog({ store: 'Redis', warn: (line) => lines.push(line), probe });
  });

  afterEach(() => {
    log.close();
    vi.useRealTimers();
  });

  it('is one line when it begins and one when it ends, whoever reports it and how often', async () => {
    const reports = [refused(), new Error('Connection is closed.'), new Error('wrapped', { cause: refused() })];
    for (let count = 0; count < 300; count += 1) expect(log.note(reports[count % 3])).toBe(true);
    expect(lines).toEqual(['Redis is not available: connect ECONNREFUSED 10.0.0.7:6379']);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(lines).toHaveLength(1);
    isAway = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^Redis is available again after 2\d\.\d s; 300 errors in between\.$/);
    isAway = true;
    log.note(refused());
    expect(lines).toHaveLength(3);
  });

  it('has no stack', () => {
    log.note(refused());
    expect(lines.join()).not.toContain('outage-log.spec');
  });

  it.each([new Error('Missing key for job 7'), new Error('NOPERM this user has no permissions'), 'text', null])(
    'leaves other errors to their reporter: %s',
    (error) => {
      expect(log.note(error)).toBe(false);
      expect(lines).toEqual([]);
    },
  );
});
