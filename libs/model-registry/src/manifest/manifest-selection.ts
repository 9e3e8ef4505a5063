import { PlatformError } from '#common';
import type { ModelManifest } from './manifest.js';

/** Set of the test manifests, which are listed only if they are selected. */
export const fixtureSet = 'fixture';

/**
 * Returns the manifests that `SLUICE_MODELS` selects: comma-separated ids or set names; `none` or empty selects none.
 * Fails with `MODEL_NOT_FOUND` for an unknown name.
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

/** Returns the manifests that an installation lists: all but fixtures, plus the selected ones. */
export function listedManifests(manifests: readonly ModelManifest[], selection: string): ModelManifest[] {
  const selected = new Set(selectManifests(manifests, selection));
  return manifests.filter((manifest) => selected.has(manifest) || !manifest.sets?.includes(fixtureSet));
}

function unknownName(manifests: readonly ModelManifest[], name: string): PlatformError {
  const sets = new Set(manifests.flatMap((manifest) => manifest.sets ?? []));
  const known = [...sets, ...manifests.map(({ id }) => id)].join(', ');
  return new PlatformError('MODEL_NOT_FOUND', `No model or set is called "${name}". There are: ${known}.`);
}
