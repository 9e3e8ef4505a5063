import { formatBytes } from '#model-store';
import type { Heartbeat, ServedModelState } from '#queue';
import { describeWorker } from '#queue/workers';
import type { CliContext } from '../cli-context.js';
import { hearWorkers } from './heard-workers.js';

/** `sluice workers list`. */
export async function listWorkers(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const workers = await hearWorkers(context);
  if (json) return context.output.json(workers.map(describeWorker));
  if (workers.length === 0) return context.output.line('no worker is heard on the bus');
  context.output.table(
    ['WORKER', 'STATE', 'POOLS', 'MACHINE', 'POD', 'ADDRESS', 'VERSION', 'SINCE', 'LOAD'],
    workers.map((heartbeat) => {
      const { id, state, pools, host, pod, address, version, since, running, slots } = describeWorker(heartbeat);
      const named = [host, pod, address, version, since].map((text) => text ?? '–');
      return [id, state, pools.join(', ') || '–', ...named, `${running} of ${slots}`];
    }),
  );
  context.output.line();
  context.output.table(['WORKER', 'MODEL', 'STATE', 'PROVIDER', 'MEMORY', 'LOAD'], workers.flatMap(modelRows));
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
