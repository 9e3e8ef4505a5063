import { Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import { createLogger, failureText } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { Readiness } from './readiness.js';
import { registerReadinessGauges } from './readiness-gauges.js';
import { logReadiness } from './readiness-log.js';

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

describe('a check of what the process does at its start', () => {
  it('keeps it from being ready, is no dependency, and is logged as information', async () => {
    const { logger, lines } = recorded();
    let isLoaded = false;
    let isStarted = false;
    const models = {
      name: 'models',
      isStartup: true,
      get isPartial() {
        return isStarted;
      },
      check: async () => {
        if (!isLoaded) throw new PlatformError('SERVICE_UNAVAILABLE', 'a is being loaded.');
      },
    };
    const readiness = new Readiness([models], logReadiness(logger));
    expect(await readiness.report()).toEqual({
      status: 'unavailable',
      checks: { models: 'unavailable' },
      reasons: { models: 'a is being loaded.' },
    });
    const metrics = new Metrics('worker', { processMetrics: false });
    registerReadinessGauges(metrics, readiness);
    const text = await metrics.render();
    expect(text).toContain('sluice_ready{app="worker"} 0');
    expect(text).not.toContain('sluice_dependency_up{');
    isLoaded = true;
    isStarted = true;
    expect((await readiness.report()).status).toBe('ok');
    isLoaded = false;
    expect(await readiness.report()).toMatchObject({ status: 'ok', checks: { models: 'unavailable' } });
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['info', 'readiness: models: a is being loaded.'],
      ['info', 'readiness: models answers again'],
      ['info', 'readiness: models: a is being loaded.'],
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
