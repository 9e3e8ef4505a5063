import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManifestConverter } from '#model-registry/manifest';
import { filesBelow } from '../files-below.js';
import { journalSuffix } from '../onnx/index.js';
import type { ConversionOptions } from './conversion.js';
import { converterVersions } from './converter-versions.js';

/** Returns the `resumeKey` of a conversion: converter, options, and the names, sizes and times of its input. */
export async function conversionKey(
  kind: ManifestConverter['kind'],
  options: ConversionOptions,
  folder: string,
): Promise<string> {
  const files = await Promise.all(
    (await filesBelow(folder)).map(async (path) => {
      const { size, mtimeMs } = await stat(join(folder, path));
      return [path, size, mtimeMs];
    }),
  );
  const sorted = Object.entries(options).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([converterVersions[kind], sorted, files]);
}

/** Deletes what an interrupted conversion left, except for data files that can be continued. */
export async function discardUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const kept = new Set(names.filter((name) => name.endsWith(journalSuffix)));
  for (const name of kept) kept.add(name.slice(0, -journalSuffix.length));
  const others = names.filter((name) => !kept.has(name));
  await Promise.all(others.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
