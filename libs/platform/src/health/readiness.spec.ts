import { Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { Readiness } from './readiness.js';
import { failureText, logReadiness } from './readiness-log.js';

/** A logger and the lines it wrote. */
function recorded() {
  const lines: { level: string; check: string; msg: string }[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as (typeof lines)[number]);
      done();
    },
  });
  return { logger: createLogger('api', { level: 'info', stream }), lines };
}

describe('logReadiness', () => {
  it('logs once why a check fails, and once that it passes again', async () => {
    const { logger, lines } = recorded();
    const trouble: { database: Error | null; queue: Error | null } = { database: null, queue: null };
    const checkOf = (name: 'database' | 'queue') => ({
      name,
      check: async () => {
        if (trouble[name] !== null) throw trouble[name];
      },
    });
    const readiness = new Readiness([checkOf('database'), checkOf('queue')], logReadiness(logger));
    await readiness.report();
    expect(lines).toEqual([]);
    trouble.database = new Error('password authentication failed for user "sluice"');
    const report = await readiness.report();
    await readiness.report();
    trouble.database = null;
    trouble.queue = new PlatformError('SERVICE_UNAVAILABLE', 'The queue is full.');
    await readiness.report();
    await readiness.report();
    expect(report).toEqual({ status: 'unavailable', checks: { database: 'unavailable', queue: 'ok' } });
    expect(lines.map(({ level, check, msg }) => [level, check, msg])).toEqual([
      ['warn', 'database', 'readiness: database fails: password authentication failed for user "sluice"'],
      ['info', 'database', 'readiness: database answers again'],
      ['warn', 'queue', 'readiness: queue fails: The queue is full.'],
    ]);
  });
});

describe('Readiness with stores that all replicas share', () => {
  const outage = new PlatformError('SERVICE_UNAVAILABLE', 'The queue is full.');

  /** A process whose queue must respond at the start, and whose storage only some routes need. */
  function open() {
    const state: { queue: 'up' | 'down' | 'silent'; storage: 'up' | 'down' } = { queue: 'down', storage: 'up' };
    const readiness = new Readiness([
      {
        name: 'queue',
        isNeededAtStart: true,
        check: async () => {
          if (state.queue === 'down') throw outage;
          if (state.queue === 'silent') await new Promise(() => undefined);
        },
      },
      {
        name: 'storage',
        isPartial: true,
        check: async () => {
          if (state.storage === 'down') throw outage;
        },
      },
    ]);
    return { state, readiness };
  }

  it('is not ready before it has reached them once', async () => {
    const { state, readiness } = open();
    expect(await readiness.report()).toMatchObject({ status: 'unavailable', checks: { queue: 'unavailable' } });
    state.queue = 'up';
    expect(await readiness.report()).toMatchObject({ status: 'ok', checks: { queue: 'ok' } });
  });

  it('stays ready during an outage, and reports it', async () => {
    const { state, readiness } = open();
    state.queue = 'up';
    await readiness.report();
    state.queue = 'down';
    expect(await readiness.report()).toEqual({
      status: 'ok',
      checks: { queue: 'unavailable', storage: 'ok' },
      reasons: { queue: 'The queue is full.' },
    });
    expect(await readiness.dependencies()).toMatchObject({ status: 'unavailable', checks: { queue: 'unavailable' } });
    readiness.drain();
    expect((await readiness.report()).status).toBe('unavailable');
  });

  it('does not wait for a store that does not respond, and reports what it last knew', async () => {
    vi.useFakeTimers();
    try {
      const { state, readiness } = open();
      state.queue = 'up';
      await readiness.report();
      state.queue = 'silent';
      const first = readiness.report();
      await vi.advanceTimersByTimeAsync(500);
      expect(await first).toMatchObject({ status: 'ok', checks: { queue: 'ok' } });
      await vi.advanceTimersByTimeAsync(2_000);
      const second = readiness.report();
      await vi.advanceTimersByTimeAsync(500);
      expect(await second).toMatchObject({ status: 'ok', checks: { queue: 'unavailable' } });
    } finally {
      vi.useRealTimers();
    }
  });

  it('counts a part that only some routes need among the dependencies', async () => {
    const { state, readiness } = open();
    Object.assign(state, { queue: 'up', storage: 'down' });
    expect((await readiness.report()).status).toBe('ok');
    expect((await readiness.dependencies()).status).toBe('unavailable');
  });
});

describe('failureText', () => {
  it('includes the messages of all addresses and all causes', () => {
    const refused = new AggregateError(
      [new Error('connect ECONNREFUSED ::1:5432'), new Error('connect ECONNREFUSED 127.0.0.1:5432')],
      '',
    );
    expect(failureText(new Error('the server cannot\n  be reached', { cause: refused }))).toBe(
      'the server cannot be reached: connect ECONNREFUSED ::1:5432: connect ECONNREFUSED 127.0.0.1:5432',
    );
    expect(failureText(Object.assign(new Error(''), { code: 'ECONNRESET' }))).toBe('ECONNRESET');
    expect(failureText(undefined)).toBe('no reason given');
  });

  it('redacts passwords in URLs and stops at circular causes', () => {
    const error = new Error('no server at postgresql://user:p/w@d@db:5432/sluice');
    error.cause = error;
    expect(failureText(error)).toBe('no server at postgresql://[redacted]@db:5432/sluice');
  });
});
