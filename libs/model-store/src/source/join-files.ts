import { existsSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import type { ManifestFile, ModelManifest } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import { concatenateFiles } from '../convert/index.js';

type ManifestConcat = NonNullable<ModelManifest['concat']>[number];

export interface JoinRequest {
  concat: readonly ManifestConcat[];
  /** Of the parts and of the joined files. */
  folder: string;
  onBytes: (file: string, done: number, total: number) => void;
  signal?: AbortSignal;
}

/** Joins parts and deletes them. A file that exists is complete. */
export async function joinFiles({ concat, folder, onBytes, signal }: JoinRequest): Promise<void> {
  for (const { parts, as } of concat) {
    const target = containedPath(folder, as);
    if (existsSync(target)) continue;
    const paths = parts.map((part) => containedPath(folder, part));
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const onPart = (done: number) => onBytes(as, done, total);
    await concatenateFiles({ parts: paths, target: `${target}.part`, onBytes: onPart, signal });
    await rename(`${target}.part`, target);
    for (const path of paths) await rm(path, { force: true });
  }
}

/** Leaves out the files that are part of a joined one. */
export function withoutJoined(
  files: readonly ManifestFile[],
  concat: readonly ManifestConcat[],
  folder: string,
): ManifestFile[] {
  const joined = new Set(
    concat.filter(({ as }) => existsSync(containedPath(folder, as))).flatMap(({ parts }) => parts),
  );
  return files.filter((file) => !joined.has(file.as ?? file.path));
}
