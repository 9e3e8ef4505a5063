import { PlatformError } from '#common';
import type { ModelManifest } from './manifest.js';

/** Set of the manifests that exist for tests: never listed unless somebody names them. */
export const fixtureSet = 'fixture';

/**
 * The manifests that `SLUICE_MODELS` means: comma separated ids or set names; `none` or an empty text selects none.
 * Fails with `MODEL_NOT_FOUND` for a name that is neither.
 */
export function selectManifests(manifests: readonly ModelManifest[], selection: string): ModelManifest[] {
  const names = selection
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'none');
  const selected = new Set<ModelManifest>();
  for (const name of names) {
    const found = manifests.filter(({ id, sets }) => id === name || sets?.includes(name));
    if (found.length === 0) throw unknownName(manifests, name);
    for (const manifest of found) selected.add(manifest);
  }
  return manifests.filter((manifest) => selected.has(manifest));
}

/** What an installation lists: every manifest but fixtures, and those the selection names. */
export function listedManifests(manifests: readonly ModelManifest[], selection: string): ModelManifest[] {
  const selected = new Set(selectManifests(manifests, selection));
  return manifests.filter((manifest) => selected.has(manifest) || !manifest.sets?.includes(fixtureSet));
}

function unknownName(manifests: readonly ModelManifest[], name: string): PlatformError {
  const sets = new Set(manifests.flatMap((manifest) => manifest.sets ?? []));
  const known = [...sets, ...manifests.map(({ id }) => id)].join(', ');
  return new PlatformError('MODEL_NOT_FOUND', `No model or set is called "${name}". There are: ${known}.`);
}
