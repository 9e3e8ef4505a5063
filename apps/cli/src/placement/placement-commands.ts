import type { Command } from 'commander';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';
import { requirePlacements } from './require-placements.js';
import { showPlacement } from './show-placement.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;

interface PlaceOptions {
  pool: string;
  pin?: boolean;
  replicas?: string;
  json?: boolean;
}

/** `sluice models place|unplace|placement`. */
export function addPlacementCommands(models: Command, context: CliContext): void {
  models
    .command('place <id>')
    .description('place a model in a pool; repeating the command replaces the placement')
    .requiredOption('--pool <pool>', 'pool name from SLUICE_POOL of the workers; with npm start: local')
    .option('--pin', 'never unload it to make room for other models')
    .option('--replicas <count>', 'number of workers that load it; default: all')
    .option(...jsonFlag)
    .action((id: string, options: PlaceOptions) => placeModel(context, id, options));
  models
    .command('unplace <id>')
    .description('remove a model from a pool; running requests finish first')
    .option('--pool <pool>', 'the pool; default: all pools it is placed in')
    .option(...jsonFlag)
    .action((id: string, options: { pool?: string; json?: boolean }) => unplaceModel(context, id, options));
  models
    .command('placement')
    .description('show placements and the models of each worker')
    .option(...jsonFlag)
    .action((options: { json?: boolean }) => showPlacement(context, options));
}

async function placeModel(context: CliContext, modelId: string, options: PlaceOptions): Promise<void> {
  const { pool, pin: pinned = false, json } = options;
  const placement = { modelId, pool, pinned, replicas: replicasOf(options.replicas) };
  const workers = await (await requirePlacements(context)).place(placement);
  if (json) return context.output.json({ ...placement, workers: workers.length });
  const how = [pinned ? 'pinned' : [], placement.replicas === null ? [] : `on ${placement.replicas} of its workers`];
  const summary = [`${modelId}: placed in the pool ${pool}`, ...how.flat()].join(', ');
  const running = workers.length === 1 ? 'one worker is' : `${workers.length || 'no'} workers are`;
  context.output.line(`${summary}; ${running} there now`);
  context.next('sluice models placement');
}

async function unplaceModel(
  context: CliContext,
  modelId: string,
  { pool, json }: { pool?: string; json?: boolean },
): Promise<void> {
  const pools = await (await requirePlacements(context)).unplace(modelId, pool ?? null);
  if (json) return context.output.json({ modelId, pools });
  context.output.line(`${modelId}: no longer placed in ${pools.join(', ')}`);
  context.next('sluice models placement');
}

/** Parses a whole number and rejects any other characters. */
function replicasOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new PlatformError('INVALID_REQUEST', '--replicas must be a whole number, 1 or more.');
}
