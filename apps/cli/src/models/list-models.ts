import { formatBytes, unpinnedSources } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { findKnownModels, installedBytes, type KnownModel } from './known-models.js';
import { fetchOnlineStates, modelState } from './online-state.js';

export async function listModels(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const known = await findKnownModels(context);
  const stateOf = await fetchOnlineStates(await context.baseUrl());
  const models = known.map((model) => describeModel(model, modelState(model.manifest, stateOf)));
  if (json) return context.output.json({ models });
  context.output.table(
    ['ID', 'TYPE', 'TIER', 'INSTALLED', 'SOURCE', 'STATE', 'SETS', 'ALSO CALLED'],
    models.map((model) => [
      model.id,
      model.type,
      model.tier,
      model.installedBytes === null ? '–' : formatBytes(model.installedBytes),
      model.verified ? 'pinned' : 'unverified',
      model.disabled ? 'taken offline' : model.registered === false ? 'not registered' : model.state,
      model.sets.join(', ') || '–',
      [...model.aliases, ...model.traits].join(', ') || '–',
    ]),
  );
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
