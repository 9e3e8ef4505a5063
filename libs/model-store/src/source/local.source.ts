import { createReadStream, existsSync } from 'node:fs';
import { mkdir, realpath, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ManifestFile } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import { filesBelow } from '../files-below.js';
import { ContentCheck } from './digest.js';
import { refuseLinksOutOf } from './links-of-folder.js';
import { pullError } from './pull-error.js';
import type { SourceRequest } from './source-request.js';
import { writeVerifiedFile } from './verified-file.js';

/**
 * Copies a file or the files of a folder; a folder without a list is copied whole. What is only read is linked, so that a
 * conversion takes no second copy on the disk.
 */
export async function fetchLocalSource(path: string, request: SourceRequest): Promise<string[]> {
  if (!existsSync(path)) throw pullError(`${path} does not exist.`);
  const isFolder = (await stat(path)).isDirectory();
  const files = request.source.files.length > 0 ? request.source.files : await listFiles(path, isFolder);
  if (isFolder)
    await refuseLinksOutOf(
      path,
      files.map((file) => file.path),
    );
  for (const file of files) await fetchFile(file, isFolder ? join(path, file.path) : path, request);
  return [];
}

async function listFiles(path: string, isFolder: boolean): Promise<ManifestFile[]> {
  if (!isFolder) return [{ path: basename(path) }];
  return (await filesBelow(path)).map((file) => ({ path: file }));
}

async function fetchFile(file: ManifestFile, from: string, request: SourceRequest): Promise<void> {
  const target = containedPath(request.into, file.as ?? file.path);
  if (existsSync(target)) return;
  if (!existsSync(from)) throw pullError(`${from} does not exist.`);
  if (request.mayLink && (await linkFile(file, { from, target }, request))) return;
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

/** Returns false where this user may create no links, as on Windows. */
async function linkFile(
  file: ManifestFile,
  { from, target }: { from: string; target: string },
  request: SourceRequest,
): Promise<boolean> {
  const path = await realpath(from);
  const { size } = await stat(path);
  const onBytes = (done: number) => request.onProgress(file.path, 'verify', done, size);
  if (file.sha256 !== undefined) {
    const check = new ContentCheck(file, file.path);
    await check.updateFromFile(path, onBytes, request.signal);
    check.verify();
  } else if (file.bytes !== undefined && file.bytes !== size) {
    throw pullError(`${file.path} has ${size} bytes; ${file.bytes} were expected.`);
  }
  await mkdir(dirname(target), { recursive: true });
  // What an interrupted pull linked may be gone since.
  await rm(target, { force: true });
  try {
    await symlink(path, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return false;
    throw error;
  }
  onBytes(size);
  return true;
}
