import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { PlatformError } from '#common';
import { fingerprintManifest, type ManifestSource, type ModelManifest } from '#model-registry/manifest';
import { conversionKey, discardUnfinished } from '../convert/index.js';
import { isIntact, readInstalledModel } from '../installed-models.js';
import {
  downloadsFolder,
  type InstalledRecord,
  modelFolder,
  modelLockFile,
  modelsFolder,
  partialModelFolder,
} from '../layout.js';
import { type FileWriterFactory, openDiskWriter } from '../source/file-writer.js';
import { joinFiles, withoutJoined } from '../source/join-files.js';
import { unpinnedSources } from '../source/pinned-source.js';
import { isStorageFull, pullError } from '../source/pull-error.js';
import type { SourceRequest } from '../source/source-request.js';
import type { SourceSettings } from '../source/source-settings.js';
import { assertFits, discardPartial, freeBytes, storageFull } from './disk-space.js';
import { withFileLock } from './file-lock.js';
import type { ProgressReporter, PullStage } from './progress.js';

export interface InstallModelOptions {
  home: string;
  manifest: ModelManifest;
  reporter: ProgressReporter;
  signal?: AbortSignal;
  sources?: SourceSettings;
  /** Replaced by tests of a full disk. */
  openWriter?: FileWriterFactory;
  freeBytes?: (folder: string) => Promise<number>;
}

export interface InstallResult {
  status: 'installed' | 'present';
  folder: string;
}

/** One run of the installation, with its folders. */
interface Installation extends InstallModelOptions {
  work: string;
  input: string;
  output: string;
  report: (file: string, stage: PullStage, done: number, total: number | null) => void;
}

/**
 * Installs one model: fetch, verify, join, convert, write the records, rename. The model's folder appears complete or
 * not at all. Safe for several processes at once; the others wait and find the result.
 */
export async function installModel(options: InstallModelOptions): Promise<InstallResult> {
  const { home, manifest, reporter, signal } = options;
  const folder = modelFolder(home, manifest.id);
  if (options.sources?.pinnedOnly === true) requirePinned(manifest);
  if (await reusePresent(options)) return { status: 'present', folder };
  await requireBase(home, manifest);
  let isReported = false;
  const onWait = () => {
    if (!isReported) reporter.note(`${manifest.id}: another process is pulling it, waiting`);
    isReported = true;
  };
  return withFileLock({ path: modelLockFile(home, manifest.id), signal, onWait }, async () => {
    if (await reusePresent(options)) return { status: 'present', folder };
    await install(prepare(options));
    return { status: 'installed', folder };
  });
}

function requirePinned(manifest: ModelManifest): void {
  const [uri] = unpinnedSources(manifest);
  if (uri === undefined) return;
  const message = `${manifest.id}: nothing pins the content of ${uri}; add a sha256 of each file, an integrity or a commit.`;
  throw new PlatformError('INVALID_MANIFEST', message, 'sources');
}

/** Before anything is downloaded: names and sizes of an adapter are compared with its base. */
async function requireBase(home: string, { id, adapterOf: base }: ModelManifest): Promise<void> {
  if (base === undefined || (await readInstalledModel(home, base)) !== null) return;
  throw pullError(`${id} is an adapter of ${base}, which is not installed here. First: sluice models pull ${base}`);
}

function prepare(options: InstallModelOptions): Installation {
  const work = partialModelFolder(options.home, options.manifest.id);
  const { reporter, manifest } = options;
  return {
    ...options,
    work,
    input: join(work, 'input'),
    output: join(work, 'output'),
    report: (file, stage, done, total) => reporter.update({ modelId: manifest.id, file, stage, done, total }),
  };
}

/** Returns true if the model is complete. A manifest with only new prices or limits replaces the old one. */
async function reusePresent({ home, manifest }: InstallModelOptions): Promise<boolean> {
  const present = await readInstalledModel(home, manifest.id);
  if (!present || !(await isIntact(present, manifest))) return false;
  const text = renderJson(manifest);
  if (renderJson(present.manifest) !== text) await replaceFile(join(present.folder, 'manifest.json'), text);
  return true;
}

async function install(installation: Installation): Promise<void> {
  const { manifest, home, work, signal } = installation;
  const downloads: string[] = [];
  try {
    await openWorkFolder(installation);
    for (const source of manifest.sources) {
      downloads.push(...(await fetchInto(installation, source)));
    }
    const converter = await makeOutput(installation);
    await writeRecords(installation, converter);
    await publish(installation);
    await discardPartial(work, downloads);
  } catch (error) {
    signal?.throwIfAborted();
    if (!isStorageFull(error)) throw error;
    await discardPartial(work, downloads.concat(await leftoverParts(home)));
    if (error instanceof Error && error.name === 'PlatformError') throw error;
    throw storageFull(manifest.id, 'the disk is full', error);
  }
}

/** Keeps the folder of an interrupted run for the same sources. */
async function openWorkFolder({ manifest, home, work, input, output, ...options }: Installation): Promise<void> {
  const marker = join(work, 'fingerprint');
  const fingerprint = fingerprintManifest(manifest);
  const isSame = existsSync(marker) && (await readFile(marker, 'utf8')) === fingerprint;
  if (!isSame) await rm(work, { recursive: true, force: true });
  else if (manifest.converter.kind === 'none' && !existsSync(input) && existsSync(output)) {
    // Interrupted between the files and their records: the files are complete.
    for (const name of ['manifest.json', 'installed.json']) await rm(join(output, name), { force: true });
    await rename(output, input);
  }
  await mkdir(modelsFolder(home), { recursive: true });
  assertFits(manifest, await (options.freeBytes ?? freeBytes)(modelsFolder(home)), await folderBytes(work));
  await mkdir(input, { recursive: true });
  if (!isSame) await writeFile(marker, fingerprint);
}

async function fetchInto(installation: Installation, source: ManifestSource): Promise<string[]> {
  const { input, manifest } = installation;
  // A part that was already joined counts as fetched.
  const files = withoutJoined(source.files, manifest.concat ?? [], input);
  if (files.length === 0 && source.files.length > 0) return [];
  // Loaded on demand: the npm client is large, and a worker that pulls nothing never needs it.
  const { fetchWithMirrors } = await import('../source/mirrors.js');
  return fetchWithMirrors({
    ...requestOf(installation, { ...source, files }),
    note: (text) => installation.reporter.note(`${manifest.id}: ${text}`),
  });
}

function requestOf(installation: Installation, source: ManifestSource): SourceRequest {
  return {
    source,
    into: installation.input,
    downloads: downloadsFolder(installation.home),
    mayLink: installation.manifest.converter.kind !== 'none',
    settings: installation.sources ?? {},
    openWriter: installation.openWriter ?? openDiskWriter,
    onProgress: installation.report,
    signal: installation.signal,
  };
}

/** Joins and converts; returns the content of `installed.json`. */
async function makeOutput(installation: Installation): Promise<string> {
  const { home, manifest, input, output, signal, report } = installation;
  await joinParts(installation);
  const { kind, options = {} } = manifest.converter;
  if (kind === 'none') {
    await rm(output, { recursive: true, force: true });
    await rename(input, output);
    return 'none';
  }
  await discardUnfinished(output);
  await mkdir(output, { recursive: true });
  const { runConversion } = await import('./run-conversion.js');
  const resumeKey = await conversionKey(kind, options, input);
  const { converter } = await runConversion({
    kind,
    options,
    resumeKey,
    inputFolder: input,
    outputFolder: output,
    ...(manifest.adapterOf !== undefined && { baseFolder: modelFolder(home, manifest.adapterOf) }),
    onProgress: ({ done, total }) => report(kind, 'convert', done, total),
    signal,
  });
  // Local files are read where they lie, and anyone may write to them meanwhile.
  if ((await conversionKey(kind, options, input)) !== resumeKey) {
    throw pullError(`${manifest.id}: its files changed while they were converted. Pull again.`);
  }
  return converter;
}

async function joinParts({ manifest, input, report, signal }: Installation): Promise<void> {
  const onBytes = (file: string, done: number, total: number) => report(file, 'convert', done, total);
  await joinFiles({ concat: manifest.concat ?? [], folder: input, onBytes, signal });
}

async function writeRecords({ manifest, output, report, signal }: Installation, converter: string): Promise<void> {
  const total = await folderBytes(output);
  const files: InstalledRecord['files'] = [];
  let before = 0;
  for (const path of await listFiles(output)) {
    const onBytes = (done: number) => report('the installed files', 'verify', before + done, total);
    const { sha256, bytes } = await hashFile(join(output, path), onBytes, signal);
    files.push({ path, bytes, sha256 });
    before += bytes;
  }
  if (!files.some(({ path }) => path === manifest.graphFile)) {
    throw pullError(`${manifest.id} has no ${manifest.graphFile} after its installation.`);
  }
  const record: InstalledRecord = {
    modelId: manifest.id,
    installedAt: new Date().toISOString(),
    converter,
    files,
  };
  await writeFile(join(output, 'manifest.json'), renderJson(manifest));
  await writeFile(join(output, 'installed.json'), renderJson(record));
}

/** Makes the model visible with one rename, after moving an older installation aside. */
async function publish({ home, manifest, output }: Installation): Promise<void> {
  const folder = modelFolder(home, manifest.id);
  const old = join(modelsFolder(home), `.old-${manifest.id}-${randomUUID()}`);
  if (existsSync(folder)) await rename(folder, old);
  await rename(output, folder);
  await rm(old, { recursive: true, force: true });
}

async function hashFile(
  path: string,
  onBytes: (done: number) => void,
  signal?: AbortSignal,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, signal }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    onBytes((bytes += chunk.length));
  }
  return { sha256: hash.digest('hex'), bytes };
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((path) => relative(folder, path).split(sep).join('/')).sort();
}

async function folderBytes(folder: string): Promise<number> {
  if (!existsSync(folder)) return 0;
  const files = await listFiles(folder);
  const sizes = await Promise.all(files.map(async (path) => (await stat(join(folder, path))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Deletes complete and partial archives that no running pull uses. */
async function leftoverParts(home: string): Promise<string[]> {
  const folder = downloadsFolder(home);
  if (!existsSync(folder)) return [];
  const names = await readdir(folder);
  const isHeld = (name: string) => names.includes(`${name.replace(/\.part(\.tag)?$/, '')}.lock`);
  return names.filter((name) => !name.endsWith('.lock') && !isHeld(name)).map((name) => join(folder, name));
}

async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.${randomUUID()}`;
  await writeFile(next, text);
  await rename(next, path);
}

function renderJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
