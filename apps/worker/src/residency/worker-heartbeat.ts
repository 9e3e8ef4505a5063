import type { ServedModelState, ModelWithoutReplica, WorkerHeartbeat } from '#queue';
import type { ServedModel } from '../served-model.js';
import type { ModelResidency } from './model-residency.js';
import type { DeviceBytes } from './residency-plan.js';

/** Granularity of reported memory, in bytes: heartbeats change only when usage crosses a step. */
const step = 16 * 2 ** 20;

/** The parts of a worker that its heartbeat describes. */
export interface HeartbeatSource {
  readonly residency: ModelResidency;
  readonly models: readonly ServedModel[];
  readonly withoutReplica: readonly ModelWithoutReplica[];
}

/** Builds the models and worker state of each heartbeat. */
export function workerHeartbeat(
  { residency, models, withoutReplica }: HeartbeatSource,
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
