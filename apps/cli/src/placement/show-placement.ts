import type { ModelPlacement, WorkerState } from '#model-registry';
import { formatBytes } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { requirePlacements } from './require-placements.js';

/** `sluice models placement`: the placements and the state of every worker. */
export async function showPlacement(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const service = await requirePlacements(context);
  const [{ revision, placements }, workers] = [await service.desired(), await service.workers()];
  const desired = placements.map((placement) => ({ ...placement, ...countsOf(placement, workers) }));
  if (json) return context.output.json({ revision, placements: desired, workers });
  if (desired.length === 0)
    context.output.line('no models are placed; workers serve the models in their SLUICE_MODELS');
  else {
    context.output.table(
      ['MODEL', 'POOL', 'PINNED', 'WANTED ON', 'READY ON'],
      desired.map(({ modelId, pool, pinned, replicas, ready, workersOfPool }) => [
        modelId,
        pool,
        pinned ? 'yes' : '–',
        replicas === null ? `all (${workersOfPool})` : String(replicas),
        String(ready),
      ]),
    );
  }
  context.output.line();
  if (workers.length === 0) return context.output.line('no worker has reported recently, or ops is not running');
  context.output.table(['WORKER', 'POOLS', 'MODEL', 'STATE', 'RUNS ON', 'MEMORY', 'OF'], workers.flatMap(rowsOf));
  const reasons = workers.flatMap(reasonsOf);
  if (reasons.length > 0) context.output.line();
  for (const reason of reasons) context.output.line(reason);
}

function countsOf({ modelId, pool }: ModelPlacement, workers: readonly WorkerState[]) {
  const running = workers.filter(({ pools }) => pools.includes(pool));
  const ready = running.filter(({ models }) =>
    models.some((held) => held.modelId === modelId && held.state === 'ready'),
  );
  return { workersOfPool: running.length, ready: ready.length };
}

/** Why models are not loaded, or not on the provider that was preferred. */
export function reasonsOf({ processId, models, withoutReplica }: WorkerState): string[] {
  const fallbacks = models.flatMap(({ modelId, provider, providerNote }) =>
    providerNote === undefined ? [] : `${processId}: ${modelId} runs on ${provider}: ${providerNote}`,
  );
  return [...withoutReplica.map(({ reason }) => `${processId}: ${reason}`), ...fallbacks];
}

function rowsOf({ processId, pools, budgets, models, withoutReplica }: WorkerState): string[][] {
  const name = [processId, pools.join(', ') || '–'];
  const held = models.map(({ modelId, state, provider, memory }) => {
    return [modelId, state, provider || '–', bytesOf(memory), bytesOf(budgets)];
  });
  const absent = withoutReplica
    // A model that is tried again after a failed load.
    .filter(({ modelId }) => !models.some((model) => model.modelId === modelId))
    .map(({ modelId, cause }) => [modelId, cause.replace('-', ' '), '–', '–', bytesOf(budgets)]);
  const rows = [...held, ...absent];
  return (rows.length > 0 ? rows : [['–', '–', '–', '–', bytesOf(budgets)]]).map((row) => [...name, ...row]);
}

function bytesOf(memory: Readonly<Record<string, number>> = {}): string {
  const parts = Object.entries(memory).map(([device, bytes]) => `${formatBytes(bytes)} ${device}`);
  return parts.join(', ') || '–';
}
