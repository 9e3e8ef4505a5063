import { expect, it } from 'vitest';
import type { Heartbeat } from '#queue';
import { presentWorker } from './workers.presenter.js';

it('shows the memory of each device and why a model is not loaded', () => {
  const model = { modalities: ['chat'], slots: 4, running: 1, state: 'ready' as const, provider: 'cpu' };
  const heartbeat: Heartbeat = {
    processId: 'w',
    role: 'worker',
    replyAddress: null,
    alive: true,
    models: [
      { ...model, modelId: 'one', memory: { cpu: 100 } },
      { ...model, modelId: 'two', memory: { cpu: 50, 'cuda:0': 7 }, providerNote: 'cuda skipped' },
    ],
    worker: {
      pools: ['text'],
      budgets: { cpu: 1_000 },
      withoutReplica: [
        { modelId: 'two', cause: 'failed', reason: 'an earlier load failed' },
        { modelId: 'three', cause: 'too-large', reason: 'needs 5 GB' },
      ],
      isDrained: true,
    },
  };
  const worker = presentWorker(heartbeat);
  expect(worker).toMatchObject({
    id: 'w',
    state: 'drained',
    pools: ['text'],
    slots: 8,
    running: 2,
    host: null,
    since: null,
  });
  expect(worker.devices).toEqual([
    { name: 'cpu', totalBytes: 1_000, usedBytes: 150 },
    { name: 'cuda:0', totalBytes: 0, usedBytes: 7 },
  ]);
  expect(worker.models.map(({ id, state, reason }) => [id, state, reason])).toEqual([
    ['one', 'ready', null],
    ['two', 'ready', 'cuda skipped'],
    ['three', 'too-large', 'needs 5 GB'],
  ]);
});
