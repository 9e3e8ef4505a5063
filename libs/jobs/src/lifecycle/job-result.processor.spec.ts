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

/** Deeper than a stack. */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return { ...result, usage: value };
}
