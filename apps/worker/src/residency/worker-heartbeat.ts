import type { ServedModelState, ModelWithoutReplica, WorkerHeartbeat } from '#queue';
import type { ServedModel } from '../served-model.js';
import type { ModelResidency } from './model-residency.js';
import type { DeviceBytes } from './residency-plan.js';

/** Memory moves all the time; what everybody hears changes only with the steps of this, in bytes. */
const step = 16 * 2 ** 20;

/** A worker, as far as what it holds is concerned. */
export interface HoldingWorker {
  readonly residency: ModelResidency;
  readonly models: readonly ServedModel[];
  readonly withoutReplica: readonly ModelWithoutReplica[];
}

/** What a worker says of its models and of itself with every heartbeat. */
export function workerHeartbeat(
  { residency, models, withoutReplica }: HoldingWorker,
  pools: readonly string[],
): { models: ServedModelState[]; worker: WorkerHeartbeat } {
  return {
    models: models.map((model) => {
      const memory = residency.memoryOf(model);
      return { ...model.describe(), ...(memory !== null && { memory: inSteps(memory) }) };
    }),
    worker: { pools, budgets: inSteps(residency.budget), withoutReplica },
  };
}

function inSteps(memory: DeviceBytes): DeviceBytes {
  return Object.fromEntries(Object.entries(memory).map(([device, bytes]) => [device, Math.round(bytes / step) * step]));
}
