import { createReadStream, existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import type { ManifestFile } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import { pullError } from './pull-error.js';
import type { SourceRequest } from './source-request.js';
import { writeVerifiedFile } from './verified-file.js';

/** Copies a file or the files of a folder; a folder without a list is copied whole. */
export async function fetchLocalSource(path: string, request: SourceRequest): Promise<string[]> {
  if (!existsSync(path)) throw pullError(`${path} does not exist.`);
  const isFolder = (await stat(path)).isDirectory();
  const files = request.source.files.length > 0 ? request.source.files : await listFiles(path, isFolder);
  for (const file of files) await copyFile(file, isFolder ? join(path, file.path) : path, request);
  return [];
}

async function listFiles(path: string, isFolder: boolean): Promise<ManifestFile[]> {
  if (!isFolder) return [{ path: basename(path) }];
  return (await filesBelow(path)).map((file) => ({ path: file }));
}

/** Returns the paths of all files below a folder, relative to it. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

async function copyFile(file: ManifestFile, from: string, request: SourceRequest): Promise<void> {
  const target = containedPath(request.into, file.as ?? file.path);
  if (existsSync(target)) return;
  if (!existsSync(from)) throw pullError(`${from} does not exist.`);
  const { size } = await stat(from);
  await writeVerifiedFile({
    chunks: createReadStream(from, { highWaterMark: 1 << 20 }),
    target,
    name: file.path,
    expected: file,
    openWriter: request.openWriter,
    onBytes: (done) => request.onProgress(file.path, 'download', done, size),
    signal: request.signal,
  });
}
