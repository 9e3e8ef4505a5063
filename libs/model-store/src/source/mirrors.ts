import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorText } from '#common/values';
import type { ManifestFile, ManifestSource } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import { ContentCheck } from './digest.js';
import { fetchSource } from './fetch-source.js';
import { joinFiles, withoutJoined } from './join-files.js';
import { discardPart } from './resumable-download.js';
import { isStorageFull, pullError } from './pull-error.js';
import type { SourceFetcher, SourceRequest } from './source-request.js';

export interface MirroredRequest extends SourceRequest {
  /** Tells the operator which place is tried instead of which. */
  note: (text: string) => void;
}

type ManifestMirror = NonNullable<ManifestSource['mirrors']>[number];

/** A place that has mirrors is given up sooner: of a blocked host nothing is heard for as long as a connection may take. */
const attemptsWithMirrors = 2;

/** Beside the wanted files, until one place had them: an interrupted pull goes on from it. */
const mirrorsFolder = '.mirrors';

/**
 * Fetches a source, or the first of its mirrors that answers. A mirror's files are compared with the hashes of the
 * source, so it does not matter whose copy they are. Fails with `MODEL_PULL_FAILED` naming every place and its reason.
 */
export async function fetchWithMirrors(
  request: MirroredRequest,
  fetch: SourceFetcher = fetchSource,
): Promise<string[]> {
  const { source, into } = request;
  const { mirrors = [], ...plain } = source;
  if (mirrors.length === 0) return fetch({ ...request, source: plain });
  const missing = await missingFiles(plain.files, request);
  // The place that they came from may be one that nobody reaches.
  if (missing.length === 0) return [];
  const reasons: string[] = [];
  const attempts: { name: string; run: () => Promise<string[]> }[] = [
    { name: plain.uri, run: () => fetch({ ...request, source: plain, attempts: attemptsWithMirrors }) },
    ...mirrors.map((mirror) => ({ name: nameOf(mirror), run: () => fetchMirror(mirror, missing, request, fetch) })),
  ];
  for (const [index, { name, run }] of attempts.entries()) {
    try {
      const downloads = await run();
      await rm(join(into, mirrorsFolder), { recursive: true, force: true });
      return downloads;
    } catch (error) {
      request.signal?.throwIfAborted();
      if (isStorageFull(error)) throw error;
      const reason = errorText(error);
      reasons.push(reason);
      const next = attempts[index + 1];
      if (next) request.note(`${name} cannot be had (${reason}); trying its mirror ${next.name}`);
    }
  }
  throw pullError(`No source of ${missing.map(({ path }) => path).join(', ')} could be reached. ${reasons.join(' ')}`);
}

/** Returns the files that an earlier pull did not leave whole. */
async function missingFiles(files: readonly ManifestFile[], request: SourceRequest): Promise<ManifestFile[]> {
  const { into, signal, onProgress } = request;
  const missing: ManifestFile[] = [];
  for (const file of files) {
    const target = targetOf(into, file);
    if (!existsSync(target)) {
      missing.push(file);
      continue;
    }
    const check = new ContentCheck(file, file.path);
    await check.updateFromFile(target, (done) => onProgress(file.path, 'verify', done, file.bytes ?? null), signal);
    try {
      check.verify();
    } catch {
      await rm(target);
      missing.push(file);
    }
  }
  return missing;
}

/** Fetches into a folder of its own, because parts of two mirrors may have the same names. */
async function fetchMirror(
  { sources, concat = [] }: ManifestMirror,
  wanted: ManifestFile[],
  request: SourceRequest,
  fetch: SourceFetcher,
): Promise<string[]> {
  const folder = join(request.into, mirrorsFolder, sources[0]?.uri.replace(/[^\w.-]/g, '_') ?? '');
  await mkdir(folder, { recursive: true });
  const downloads: string[] = [];
  for (const source of sources) {
    const files = withoutJoined(source.files, concat, folder);
    if (files.length === 0) continue;
    downloads.push(...(await fetch({ ...request, source: { ...source, files }, into: folder })));
  }
  const onBytes = (file: string, done: number, total: number) => request.onProgress(file, 'verify', done, total);
  await joinFiles({ concat, folder, onBytes, signal: request.signal });
  for (const file of wanted) await adopt(file, folder, request);
  return downloads;
}

/** Moves a file of a mirror to its place if it is the right one. A wrong one is deleted. */
async function adopt(file: ManifestFile, folder: string, { into, signal, onProgress }: SourceRequest): Promise<void> {
  const fetched = targetOf(folder, file);
  const check = new ContentCheck(file, file.path);
  await check.updateFromFile(fetched, (done) => onProgress(file.path, 'verify', done, file.bytes ?? null), signal);
  try {
    check.verify();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const target = targetOf(into, file);
  await mkdir(dirname(target), { recursive: true });
  // What the unreachable source left would become part of the model.
  await discardPart(target);
  await rename(fetched, target);
}

function targetOf(folder: string, file: ManifestFile): string {
  return containedPath(folder, file.as ?? file.path);
}

function nameOf({ sources }: ManifestMirror): string {
  const [first, ...others] = sources.map(({ uri }) => uri);
  return others.length === 0 ? String(first) : `${String(first)} and ${others.length} more`;
}
