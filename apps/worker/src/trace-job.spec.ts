import { expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import type { Tracing } from '#platform/tracing';
import type { RunningJob } from '#queue';
import { traceJob } from './trace-job.js';

const envelope = { requestId: 'a-SLC', modality: 'image', modelId: 'painter', attempt: 1 };
const job = { envelope } as unknown as RunningJob;

async function logOf(error: PlatformError): Promise<object[]> {
  const warn = vi.fn();
  const logger = { debug: () => undefined, warn } as unknown as Logger;
  const tracing = { begin: () => undefined, end: () => undefined } as unknown as Tracing;
  const fail = async (): Promise<never> => {
    throw error;
  };
  await expect(traceJob({ tracing, logger }, job, fail)).rejects.toBe(error);
  return warn.mock.calls.map(([fields]) => fields as object);
}

it('logs why a model failed, with the request', async () => {
  const options = { reason: 'Concat: dimensions 59 and 60 differ' };
  const failure = new PlatformError('INFERENCE_FAILED', 'The service failed to answer this request.', null, options);
  expect(await logOf(failure)).toEqual([
    { requestId: 'a-SLC', modality: 'image', model: 'painter', attempt: 1, code: 'INFERENCE_FAILED', ...options },
  ]);
});

it('logs no warning about a request that was wrong', async () => {
  expect(await logOf(new PlatformError('INVALID_REQUEST', 'image is too small.', 'image'))).toEqual([]);
});
