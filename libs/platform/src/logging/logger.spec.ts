import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLogger, serializeError } from './logger.js';

/** A logger and the entries it wrote. */
function recorded(level = 'info') {
  const entries: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      entries.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return { logger: createLogger('api', { level, stream }), entries };
}

describe('createLogger', () => {
  it('writes level and time, and the request id of a child logger', () => {
    const { logger, entries } = recorded();
    logger.child({ requestId: 'r-1' }).info({ model: 'm' }, 'done');
    logger.debug('not shown');
    expect(entries).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        name: 'api',
        requestId: 'r-1',
        model: 'm',
        msg: 'done',
      },
    ]);
  });

  it('omits the arguments of a failed command', () => {
    const { logger, entries } = recorded();
    const error = Object.assign(new Error('out of memory'), { command: { args: ['a secret prompt'] }, code: 'OOM' });
    logger.warn({ error: new Error('outer', { cause: error }) }, 'failed');
    expect(JSON.stringify(entries)).not.toContain('secret');
    expect(entries[0]).toMatchObject({ error: { message: 'outer', cause: { message: 'out of memory', code: 'OOM' } } });
  });

  it('redacts credentials that are logged by mistake', () => {
    const { logger, entries } = recorded();
    logger.info(
      {
        headers: { authorization: 'Bearer slk_x', 'x-api-key': 'slk_z' },
        caller: { apiKey: 'slk_y' },
        job: { payload: 'words' },
      },
      '',
    );
    expect(JSON.stringify(entries)).not.toMatch(/slk_|words/);
  });
});

describe('serializeError', () => {
  it('stops at circular causes', () => {
    const error = new Error('round');
    error.cause = error;
    expect(JSON.stringify(serializeError(error)).match(/"message":"round"/g)).toHaveLength(4);
  });

  it('accepts values that are not errors', () => {
    expect(serializeError('words')).toEqual({ type: 'string', message: 'words' });
  });
});

it('logs the stack of an error, and of a warning the messages alone', () => {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const logger = createLogger('api', { level: 'info', stream });
  const error = new Error('Redis did not answer.', { cause: new Error('connect ECONNREFUSED') });
  logger.warn({ requestId: 'r', error }, 'a call failed');
  logger.error({ error }, 'a bug');
  const logged = { message: 'Redis did not answer.', cause: { message: 'connect ECONNREFUSED' } };
  expect(lines[0]).toMatchObject({ requestId: 'r', error: logged });
  expect(JSON.stringify(lines[0])).not.toContain('logger.spec');
  expect(JSON.stringify(lines[1])).toContain('logger.spec');
});
