import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { createLogger } from '#platform/logging';
import type { JobResult } from '#queue';
import { ResultTickets } from '../tickets/result-tickets.js';
import type { JobCloser } from './job-closer.js';
import { JobResultProcessor } from './job-result.processor.js';
import type { JobClosing } from './job-states.js';

const tickets = new ResultTickets('ab'.repeat(32));
const bounds = { ...noTokens, promptTokens: 5, completionTokens: 10 };
const result: JobResult = {
  requestId: 'r',
  attempt: 1,
  modality: 'chat',
  modelId: 'm',
  retries: 0,
  status: 'succeeded',
  error: null,
  usage: { ...noTokens, completionTokens: 10 },
  executionMs: 1,
  finishedAtMs: 0,
};

async function process(given: unknown): Promise<{ closings: JobClosing[]; refused: string[] }> {
  const closings: JobClosing[] = [];
  const refused: string[] = [];
  const close = async (closing: JobClosing) => {
    closings.push(closing);
    return null;
  };
  const processor = new JobResultProcessor({
    closer: { close } as unknown as JobCloser,
    tickets,
    logger: createLogger('test', { level: 'silent' }),
    onRefused: (reason) => void refused.push(reason),
  });
  await processor.process(given as JobResult);
  return { closings, refused };
}

describe('JobResultProcessor', () => {
  it('closes a job with the usage that its payload allows', async () => {
    const { closings, refused } = await process(tickets.sign(result, bounds));
    expect(closings).toMatchObject([{ state: 'succeeded', usage: result.usage }]);
    expect(refused).toEqual([]);
  });

  it('closes a job with its worker and the time to its first token', async () => {
    const reported = { ...result, reportedBy: 'gpu-a/worker-1f', executionMs: 9, firstTokenMs: 4 };
    const { closings } = await process(tickets.sign(reported, bounds));
    expect(closings).toMatchObject([{ worker: 'gpu-a/worker-1f', executionMs: 9, firstTokenMs: 4 }]);
  });

  it.each([
    { reportedBy: 'a prompt of a caller' },
    { reportedBy: 5 as never },
    { firstTokenMs: 1.5 },
    { firstTokenMs: -1 },
    { firstTokenMs: 2 ** 40 },
    { firstTokenMs: '1' as never },
  ])('counts a result without what no worker writes, which is only shown: %j', async (shown) => {
    const { closings, refused } = await process(tickets.sign({ ...result, ...shown }, bounds));
    expect(closings).toMatchObject([{ state: 'succeeded', usage: result.usage }]);
    expect(closings[0]).not.toHaveProperty('worker');
    expect(closings[0]).not.toHaveProperty('firstTokenMs');
    expect(refused).toEqual([]);
  });

  it('fails a job without charge for usage that its payload does not allow', async () => {
    const usage = { ...noTokens, completionTokens: 1_000_000_000 };
    const { closings, refused } = await process(tickets.sign({ ...result, usage, artifacts: ['a'] }, bounds));
    expect(closings).toMatchObject([{ requestId: 'r', state: 'failed', errorCode: 'INFERENCE_FAILED', usage: null }]);
    expect(closings[0]?.artifacts).toBeUndefined();
    expect(refused).toEqual(['usage']);
  });

  it.each<[string, unknown]>([
    ['unsigned', result],
    ['forged', { ...tickets.sign(result, bounds), requestId: 'another' }],
    ['unknown-key', new ResultTickets('cd'.repeat(32)).sign(result, bounds)],
    ['malformed', null],
    ['malformed', 'text'],
    ['malformed', {}],
    ['malformed', { ...tickets.sign(result, bounds), attempt: 2 ** 40 }],
    ['malformed', tickets.sign({ ...result, executionMs: 1e300 }, bounds)],
    ['malformed', tickets.sign({ ...result, status: 'done' as 'failed' }, bounds)],
    ['malformed', tickets.sign({ ...result, error: { code: 'NONE' as 'UNKNOWN_ERROR', message: 'a' } }, bounds)],
    ['malformed', tickets.sign({ ...result, artifacts: ['a\0'] }, bounds)],
    ['malformed', tickets.sign({ ...result, artifacts: ['\uD800'] }, bounds)],
    ['malformed', nested(100_000)],
  ])('changes nothing for what is %s, and does not want it again', async (reason, given) => {
    expect(await process(given)).toEqual({ closings: [], refused: [reason] });
  });
});

describe('the line about a refused result', () => {
  /** The log line of what is refused. */
  async function lineAbout(given: unknown): Promise<Record<string, unknown> | undefined> {
    const lines: Record<string, unknown>[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    });
    const closer = { close: async () => null } as unknown as JobCloser;
    const processor = new JobResultProcessor({ closer, tickets, logger: createLogger('ops', { stream }) });
    await processor.process(given as JobResult);
    return lines.find(({ msg }) => msg === 'a job result was refused');
  }

  const reported = { ...result, reportedBy: 'gpu-a/worker-1f' };

  it.each<[string, unknown, object]>([
    ['forged', { ...tickets.sign(reported, bounds), attempt: 2 }, { reason: 'forged', attempt: 2 }],
    ['unsigned', reported, { reason: 'unsigned', cause: 'no ticket' }],
    ['malformed', { ...reported, status: 'done' }, { reason: 'malformed', cause: 'status is missing or invalid' }],
    ['unstorable', { ...reported, artifacts: ['a\0'] }, { reason: 'malformed', cause: 'a text that cannot be stored' }],
    [
      'impossible',
      tickets.sign({ ...reported, usage: { ...noTokens, completionTokens: 11 } }, bounds),
      { reason: 'usage', cause: 'completionTokens exceeds its bound' },
    ],
  ])('names request, worker, size and cause: %s', async (_kind, given, expected) => {
    const bytes = Buffer.byteLength(JSON.stringify(given));
    const request = { requestId: 'r', model: 'm', worker: 'gpu-a/worker-1f', bytes };
    expect(await lineAbout(given)).toMatchObject({ ...request, ...expected });
  });

  it.each<[unknown, object]>([
    [null, { cause: 'not an object', bytes: 4 }],
    ['a prompt of a caller', { cause: 'not an object' }],
    [{ results: 'none' }, { cause: 'requestId is missing or invalid' }],
    [nested(100_000), { cause: 'nested too deeply' }],
    [{ ...result, requestId: 'a prompt of\na caller', attempt: 0 }, { cause: 'attempt is missing or invalid' }],
  ])('says what it can about anything else, and repeats no text', async (given, expected) => {
    const line = await lineAbout(given);
    expect(line).toMatchObject({ reason: 'malformed', ...expected });
    expect(JSON.stringify(line)).not.toContain('prompt');
  });
});

/** JSON that is nested deeper than a stack. */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return { ...result, usage: value };
}
