import { PlatformError } from '#common';
import { nearestNames } from '#platform/config';
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

const maxSuggestions = 3;

function unknownName(manifests: readonly ModelManifest[], name: string): PlatformError {
  const sets = new Set(manifests.flatMap((manifest) => manifest.sets ?? []));
  const known = [...sets, ...manifests.map(({ id }) => id)];
  // Part of a name is what people type of a long one.
  const parts = known.filter((candidate) => name.length > 2 && candidate.includes(name));
  const meant = [...new Set([...nearestNames(name, known), ...parts])].slice(0, maxSuggestions);
  const hint = meant.length === 0 ? '' : ` Did you mean ${meant.join(' or ')}?`;
  const message = `No model or set is called "${name}".${hint} There are: ${known.join(', ')}.`;
  return new PlatformError('MODEL_NOT_FOUND', message);
}
