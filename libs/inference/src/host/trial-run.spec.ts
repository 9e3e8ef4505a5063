import { expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { EngineEvent } from '../contract/engine.js';
import { measureTrial } from './trial-run.js';

const trial = { task: 'embed', input: {} };

function runs(outputs: object[], msOfRun: number[] = []) {
  let count = 0;
  return async (): Promise<EngineEvent[]> => {
    const index = Math.min(count++, outputs.length - 1);
    await new Promise((resolve) => setTimeout(resolve, msOfRun[index] ?? 0));
    return [
      { type: 'task-progress', fraction: 1 },
      { type: 'task-finished', cancelled: false, output: outputs[index] ?? null },
    ];
  };
}

it('measures the runs after the first one, which compiles', async () => {
  const run = runs([{ value: 1 }, { value: 1 }, { value: 1 }, { value: 1 }], [300, 20, 20, 20]);
  const measure = await measureTrial(trial, { provider: 'webgpu', run });
  expect(measure).toMatchObject({
    provider: 'webgpu',
    isRepeatable: true,
    result: { tokens: [], values: [{ value: 1 }] },
  });
  expect(measure.ms).toBeGreaterThan(15);
  expect(measure.ms).toBeLessThan(250);
});

it('says that results differ from run to run', async () => {
  const run = runs([{ value: 1 }, { value: 1 }, { value: 2 }]);
  expect((await measureTrial(trial, { provider: 'cpu', run })).isRepeatable).toBe(false);
});

it('collects the tokens of a text with the likeliest ones', async () => {
  const logprobs = [{ token: 'a', logprob: -1, bytes: null, topLogprobs: [{ token: 'b', logprob: -2, bytes: null }] }];
  const run = async () => [{ type: 'text-delta', index: 0, text: 'a', tokens: 1, logprobs } as EngineEvent];
  const { result } = await measureTrial(trial, { provider: 'cpu', run });
  expect(result).toEqual({ tokens: [{ token: 'a', logprob: -1, top: { b: -2 } }], values: [] });
});

it('fails with the failure of a run', async () => {
  const error = new PlatformError('INFERENCE_FAILED', 'no', null, { reason: 'Gather requires f16' }).toWire();
  const run = async () => [{ type: 'failed', error, usage: null } as EngineEvent];
  await expect(measureTrial(trial, { provider: 'webgpu', run })).rejects.toMatchObject({
    reason: 'Gather requires f16',
  });
});
