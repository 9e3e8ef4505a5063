import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { createLogger, failureText } from '#platform/logging';
import { Readiness } from './readiness.js';
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
