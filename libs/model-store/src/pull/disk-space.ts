import { existsSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { formatBytes } from './progress-reporter.js';

/** Returns the bytes that an unprivileged user can still write below a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/**
 * Rejects a model that cannot fit, before its first byte. Sizes missing in the manifest count as zero. This avoids a
 * long download that must fail, but does not replace the handling of a full disk.
 */
export function assertFits(manifest: ModelManifest, free: number, alreadyThere: number): void {
  const isConverted = manifest.converter.kind !== 'none';
  // Local files are converted where they lie.
  const sources = manifest.sources.filter(({ uri }) => !isConverted || !uri.startsWith('file:'));
  const input = sources.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  const converted = isConverted ? (manifest.installedBytes ?? 0) : 0;
  const needed = input + converted - alreadyThere;
  if (needed > free)
    throw storageFull(manifest.id, `it needs ${formatBytes(needed)}, and ${formatBytes(free)} are free`);
}

export function storageFull(modelId: string, detail: string, cause?: unknown): PlatformError {
  const message = `Not enough disk space under SLUICE_HOME for ${modelId}: ${detail}. Free some space and pull again.`;
  return new PlatformError('STORAGE_FULL', message, null, { cause });
}

/** Frees the space of an unfinished pull, because a full disk affects everything else on it. */
export async function discardPartial(folder: string, downloads: readonly string[]): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  for (const path of downloads) if (existsSync(path)) await rm(path, { force: true });
}
