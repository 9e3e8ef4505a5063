import type { ManifestSource, ModelManifest } from '#model-registry/manifest';

/** A hub revision that is a commit. */
const hubCommit = /^hf:[^@]+@[0-9a-f]{40}$/;

/**
 * Returns whether a manifest pins the content of a source: by a sha256 of each file, by an integrity of its one archive or
 * file, or by a commit of the hub.
 */
function isPinned({ uri, integrity, files }: ManifestSource): boolean {
  if (files.length > 0 && files.every(({ sha256 }) => sha256 !== undefined)) return true;
  if (uri.startsWith('hf:')) return hubCommit.test(uri);
  return integrity !== undefined && (/^(npm|pypi):/.test(uri) || (/^https?:/.test(uri) && !uri.endsWith('/')));
}

/** Returns the uris of sources whose content nothing pins: what they hold today may be replaced tomorrow. */
export function unpinnedSources({ sources }: Pick<ModelManifest, 'sources'>): string[] {
  return sources.filter((source) => !isPinned(source)).map(({ uri }) => uri);
}
