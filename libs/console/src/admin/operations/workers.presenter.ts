import type { Heartbeat, ModelWithoutReplica, ServedModelState } from '#queue';
import { type DescribedWorker, describeWorker } from '#queue/workers';
import type { WorkerDeviceResponse, WorkerModelResponse, WorkerResponse } from './operations.response.js';

export function presentWorker(heartbeat: Heartbeat): WorkerResponse {
  const worker = describeWorker(heartbeat);
  const { id, state, pools, host, pod, version, since, slots, running, models, withoutReplica } = worker;
  // A model that is tried again after a failed load is in both lists.
  const missing = withoutReplica.filter(({ modelId }) => !models.some((model) => model.modelId === modelId));
  return {
    ...{ id, state, pools: [...pools], host, pod, version, since, slots, running },
    devices: devicesOf(worker),
    models: [...models.map(presentServed), ...missing.map(presentMissing)],
  };
}

function presentServed({
  modelId,
  state,
  providerNote,
  provider,
  memory,
  slots,
  running,
}: ServedModelState): WorkerModelResponse {
  return {
    id: modelId,
    state,
    reason: providerNote ?? null,
    provider: provider || null,
    memory: { ...memory },
    slots,
    running,
  };
}

function presentMissing({ modelId, cause, reason }: ModelWithoutReplica): WorkerModelResponse {
  return { id: modelId, state: cause, reason, provider: null, memory: {}, slots: 0, running: 0 };
}

/** Every device with a budget, or with a model on it. */
function devicesOf({ budgets, models }: DescribedWorker): WorkerDeviceResponse[] {
  const used: Record<string, number> = {};
  for (const { memory = {} } of models) {
    for (const [device, bytes] of Object.entries(memory)) used[device] = (used[device] ?? 0) + bytes;
  }
  const devices = [...new Set([...Object.keys(budgets), ...Object.keys(used)])].toSorted();
  return devices.map((name) => ({ name, totalBytes: budgets[name] ?? 0, usedBytes: used[name] ?? 0 }));
}
