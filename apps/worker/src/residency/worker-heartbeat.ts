import type { RunMemory } from '#model-memory';
import type { ServedModelState, ModelWithoutReplica, WorkerHeartbeat, WorkerProcess } from '#queue';
import type { ServedModel } from '../served-model.js';
import { leastGrowthBytes } from './host-memory-guard.js';
import type { ModelResidency } from './model-residency.js';
import type { DeviceBytes } from './residency-plan.js';

/** Granularity of reported memory, in bytes: heartbeats change only when usage crosses a step. */
const step = 16 * 2 ** 20;
/** The same for memory that is available to runs, so that limits do not move with every request. */
const runStep = 64 * 2 ** 20;

/** The parts of a worker that its heartbeat describes. */
export interface HeartbeatSource {
  readonly residency: ModelResidency;
  readonly models: readonly ServedModel[];
  readonly withoutReplica: readonly ModelWithoutReplica[];
  readonly isDrained: boolean;
}

/** Builds the models and worker state of each heartbeat. */
export function workerHeartbeat(
  { residency, models, withoutReplica, isDrained }: HeartbeatSource,
  { pools = [], process }: { pools?: readonly string[]; process?: WorkerProcess },
): { models: ServedModelState[]; worker: WorkerHeartbeat } {
  return {
    models: models
      .filter(({ hasFailed }) => !hasFailed)
      .flatMap((model) => {
        const memory = residency.memoryOf(model);
        const run = runOf(model, { residency, models });
        const shared = { ...(memory !== null && { memory: inSteps(memory) }), ...(run !== null && { run }) };
        return [{ ...model.describe(), ...shared }, ...model.describeAdapters()];
      }),
    worker: {
      pools,
      budgets: inSteps(residency.budget),
      withoutReplica,
      ...(process !== undefined && { process }),
      ...(isDrained && { isDrained }),
    },
  };
}

/** Memory of a run on the device of the model; null where it does not depend on the request, or is not known yet. */
function runOf(
  model: ServedModel,
  { residency, models }: Pick<HeartbeatSource, 'residency' | 'models'>,
): RunMemory | null {
  const { report } = model.host;
  if (report === null || report.run === null) return null;
  const device = report.provider === 'cuda' ? 'cuda' : 'cpu';
  const available = residency.availableTo(model, { loaded: models, device });
  if (available === null) return null;
  return { ...report.run, availableBytes: Math.max(leastGrowthBytes / 2, Math.floor(available / runStep) * runStep) };
}

function inSteps(memory: DeviceBytes): DeviceBytes {
  return Object.fromEntries(Object.entries(memory).map(([device, bytes]) => [device, Math.round(bytes / step) * step]));
}
