import type { WorkerState } from '#model-registry';
import { formatBytes, unpinnedSources } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { findKnownModels, installedBytes, type KnownModel } from './known-models.js';
import { reasonsOf } from '../placement/show-placement.js';
import { requirePlacements } from '../placement/require-placements.js';
import { fetchOnlineStates, modelState } from './online-state.js';

export async function listModels(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const known = await findKnownModels(context);
  const stateOf = await fetchOnlineStates(await context.baseUrl());
  // Without a database, no model is known to be registered or not.
  const hasDatabase = known.some(({ registered }) => registered !== null);
  const workers = hasDatabase ? await (await requirePlacements(context)).workers() : [];
  const models = known.map((model) => ({
    ...describeModel(model, modelState(model.manifest, stateOf)),
    providers: providersOf(model.manifest.id, workers),
  }));
  const reasons = workers.flatMap(reasonsOf);
  if (json) return context.output.json({ models, reasons });
  context.output.table(
    ['ID', 'TYPE', 'TIER', 'INSTALLED', 'SOURCE', 'STATE', 'RUNS ON', 'SETS', 'ALSO CALLED'],
    models.map((model) => [
      model.id,
      model.type,
      model.tier,
      model.installedBytes === null ? '–' : formatBytes(model.installedBytes),
      model.verified ? 'pinned' : 'unverified',
      model.disabled ? 'taken offline' : model.registered === false ? 'not registered' : model.state,
      model.providers.join(', ') || '–',
      model.sets.join(', ') || '–',
      [...model.aliases, ...model.traits].join(', ') || '–',
    ]),
  );
  if (reasons.length > 0) context.output.line();
  for (const reason of reasons) context.output.line(reason);
}

/** Providers on which workers run the model. */
function providersOf(modelId: string, workers: readonly WorkerState[]): string[] {
  const held = workers.flatMap(({ models }) => models.filter((model) => model.modelId === modelId));
  return [...new Set(held.map(({ provider }) => provider).filter((provider) => provider !== ''))].sort();
}

function describeModel(
  { manifest, registered, disabled, installed }: KnownModel,
  state: ReturnType<typeof modelState>,
) {
  const { id, type, tier, name, sets = [], aliases = [], traits = {} } = manifest;
  return {
    id,
    name,
    type,
    tier,
    verified: unpinnedSources(manifest).length === 0,
    sets,
    aliases,
    traits: Object.keys(traits),
    registered,
    disabled,
    state,
    installedBytes: installed && installedBytes(installed),
    installedAt: installed?.record.installedAt ?? null,
  };
}
