import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { PlatformError } from '#common';
import { assertFamily } from '#inference/host';
import { type ManifestSource, type ModelManifest, parseManifest } from '#model-registry/manifest';

/** Resolves relative `file:` sources against the manifest. The registry needs absolute ones. */
export async function readManifestFile(path: string): Promise<ModelManifest> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new PlatformError('INVALID_MANIFEST', `There is no file ${path}.`);
    if (error.code === 'EISDIR') throw new PlatformError('INVALID_MANIFEST', `${path} is a folder, not a manifest.`);
    throw error;
  });
  const manifest = parseManifest(text, path);
  assertFamily(manifest.family, manifest.id);
  const folder = dirname(path);
  const sources = manifest.sources.map((source) => ({
    ...withAbsolutePath(source, folder),
    ...(source.mirrors && { mirrors: source.mirrors.map((mirror) => withAbsolutePaths(mirror, folder)) }),
  }));
  return { ...manifest, sources };
}

type ManifestMirror = NonNullable<ManifestSource['mirrors']>[number];

function withAbsolutePaths(mirror: ManifestMirror, folder: string): ManifestMirror {
  return { ...mirror, sources: mirror.sources.map((source) => withAbsolutePath(source, folder)) };
}

function withAbsolutePath(source: ManifestSource, folder: string): ManifestSource {
  const [, local] = /^file:(?!\/\/)(.+)$/.exec(source.uri) ?? [];
  if (local === undefined || isAbsolute(local)) return source;
  return { ...source, uri: `file:${resolve(folder, local)}` };
}
