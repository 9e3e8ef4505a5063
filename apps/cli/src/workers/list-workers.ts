import { formatBytes } from '#model-store';
import type { Heartbeat, ServedModelState } from '#queue';
import type { CliContext } from '../cli-context.js';
import { hearWorkers, runningJobs } from './heard-workers.js';

/** `sluice workers list`. */
export async function listWorkers(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const workers = await hearWorkers(context);
  if (json) return context.output.json(workers.map(describe));
  if (workers.length === 0) return context.output.line('no worker is heard on the bus');
  context.output.table(
    ['WORKER', 'STATE', 'POOLS', 'MACHINE', 'POD', 'ADDRESS', 'VERSION', 'SINCE', 'LOAD'],
    workers.map((heartbeat) => {
      const { id, state, pools, host, pod, address, version, since, running, slots } = describe(heartbeat);
      const named = [host, pod, address, version, since].map((text) => text ?? '–');
      return [id, state, pools.join(', ') || '–', ...named, `${running} of ${slots}`];
    }),
  );
  context.output.line();
  context.output.table(['WORKER', 'MODEL', 'STATE', 'PROVIDER', 'MEMORY', 'LOAD'], workers.flatMap(modelRows));
}

function describe(heartbeat: Heartbeat) {
  const { processId: id, models, worker } = heartbeat;
  const { host, pod, address, version, startedAtMs } = worker?.process ?? {};
  return {
    id,
    state: worker?.isDrained === true ? 'drained' : 'active',
    pools: worker?.pools ?? [],
    host: host ?? null,
    pod: pod ?? null,
    address: address ?? null,
    version: version ?? null,
    since: startedAtMs === undefined ? null : new Date(startedAtMs).toISOString(),
    running: runningJobs(heartbeat),
    slots: models.reduce((sum, { slots }) => sum + slots, 0),
    budgets: worker?.budgets ?? {},
    models,
    withoutReplica: worker?.withoutReplica ?? [],
  };
}

function modelRows({ processId, models }: Heartbeat): string[][] {
  if (models.length === 0) return [[processId, '–', '–', '–', '–', '–']];
  return models.map((model) => [
    processId,
    model.modelId,
    model.state,
    model.provider || '–',
    memoryOf(model),
    `${model.running} of ${model.slots}`,
  ]);
}

function memoryOf({ memory = {} }: ServedModelState): string {
  return (
    Object.entries(memory)
      .map(([device, bytes]) => `${formatBytes(bytes)} ${device}`)
      .join(', ') || '–'
  );
}
