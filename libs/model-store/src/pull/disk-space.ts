import { existsSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';

/** Bytes that a user without special rights may still write below a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/**
 * Refuses a model that cannot fit, before its first byte. Sizes the manifest does not state count as nothing: this
 * spares a long download that must fail, it does not replace the handling of a full disk.
 */
export function assertFits(manifest: ModelManifest, free: number, alreadyThere: number): void {
  const input = manifest.sources.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  const converted = manifest.converter.kind === 'none' ? 0 : (manifest.installedBytes ?? 0);
  const needed = input + converted - alreadyThere;
  if (needed > free) throw storageFull(manifest.id, `it needs ${megabytes(needed)}, ${megabytes(free)} are free`);
}

export function storageFull(modelId: string, detail: string, cause?: unknown): PlatformError {
  const message = `Not enough disk space under SLUICE_HOME for ${modelId}: ${detail}. Free some space and pull again.`;
  return new PlatformError('STORAGE_FULL', message, null, { cause });
}

/** Gives the space of an unfinished pull back; with a full disk everything else on it suffers too. */
export async function discardPartial(folder: string, downloads: readonly string[]): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  for (const path of downloads) if (existsSync(path)) await rm(path, { force: true });
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString('en-US')} MB`;
}
