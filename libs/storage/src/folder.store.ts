import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { isMissingFile } from '#platform/files';
import { ArtifactIdFactory } from './artifact-id-factory.js';
import { type ArtifactKind, artifactPath, type ArtifactRecord, hourOf, parseArtifactId } from './artifact.js';
import type {
  ArtifactContent,
  ArtifactStore,
  ByteRange,
  NewArtifactOptions,
  OpenArtifact,
  PutOptions,
} from './artifact-store.js';
import { chunksOf, ContentCheck, ContentMeter } from './content-reader.js';
import { damaged, folderError, mediaNotFound, tooLarge } from './storage-error.js';

/** Age above which a partial write is orphaned: its writer was killed. */
const abandonedMs = 3_600_000;

/** Content of the write test for readiness. */
const probeBytes = 4_096;

/**
 * Artifacts in a folder of this machine, which every process of the installation must share.
 *
 * - `<root>/<hour>/<id>`: the bytes, by their hour of expiry
 * - `<root>/<hour>/<id>.json`: the record; written last, so that an artifact with a record is complete
 * - `<root>/partial/`: partial writes
 */
export class FolderStore implements ArtifactStore {
  private readonly partial: string;

  constructor(
    private readonly root: string,
    private readonly artifactIds: ArtifactIdFactory = new ArtifactIdFactory(),
  ) {
    this.partial = join(root, 'partial');
  }

  /** Only the ids differ: whoever has the folder reads all of it. */
  ofModel(modelId: string): FolderStore {
    return new FolderStore(this.root, this.artifactIds.ofModel(modelId));
  }

  reserve(kind: ArtifactKind, lifetimeMs?: number): string {
    return this.artifactIds.newId(kind, lifetimeMs);
  }

  async put(content: ArtifactContent, options: NewArtifactOptions): Promise<ArtifactRecord> {
    return await this.putReserved(this.reserve(options.kind, options.lifetimeMs), content, options);
  }

  async putReserved(id: string, content: ArtifactContent, options: PutOptions): Promise<ArtifactRecord> {
    this.artifactIds.expiryOf(id);
    const part = join(this.partial, `${id}.${randomBytes(6).toString('hex')}`);
    try {
      await mkdir(this.partial, { recursive: true, mode: 0o700 });
      const measured = await writeWhole(part, content, options);
      const record = this.artifactIds.record(id, { contentType: options.contentType, ...measured });
      return await this.keep(record, (target) => rename(part, target));
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined);
      throw folderError(error);
    }
  }

  async find(id: string): Promise<ArtifactRecord | null> {
    const parsed = parseArtifactId(id);
    if (parsed === null || parsed.expiresAtMs <= this.artifactIds.clock.nowMs()) return null;
    try {
      return JSON.parse(await readFile(`${this.pathOf(id, parsed.expiresAtMs)}.json`, 'utf8')) as ArtifactRecord;
    } catch (error) {
      if (isMissingFile(error)) return null;
      throw folderError(error);
    }
  }

  async open(id: string, range?: ByteRange): Promise<OpenArtifact> {
    const { record, path } = await this.locate(id);
    if (range !== undefined) {
      return { record, stream: createReadStream(path, { start: range.first, end: range.last }) };
    }
    const check = new ContentCheck(record);
    // An error of either end destroys both; the reader of the check sees it.
    return { record, stream: pipeline(createReadStream(path), check, () => undefined) };
  }

  async read(id: string, maxBytes: number): Promise<{ record: ArtifactRecord; bytes: Buffer }> {
    const { record, path } = await this.locate(id);
    if (record.bytes > maxBytes) throw tooLarge(maxBytes);
    try {
      const bytes = await readFile(path);
      const meter = new ContentMeter();
      meter.add(bytes);
      if (meter.bytes !== record.bytes || meter.sha256() !== record.sha256) throw damaged();
      return { record, bytes };
    } catch (error) {
      throw isMissingFile(error) ? mediaNotFound() : folderError(error);
    }
  }

  async withFile<Result>(id: string, use: (path: string, record: ArtifactRecord) => Promise<Result>): Promise<Result> {
    const { record, path } = await this.locate(id);
    return await use(path, record);
  }

  async copy(id: string, options: { kind: ArtifactKind; lifetimeMs?: number }): Promise<ArtifactRecord> {
    const { record, path } = await this.locate(id);
    const copy = this.artifactIds.record(this.reserve(options.kind, options.lifetimeMs), record);
    try {
      // The bytes of an artifact never change, so two names may share them.
      return await this.keep(copy, (target) => link(path, target));
    } catch (error) {
      throw isMissingFile(error) ? mediaNotFound() : folderError(error);
    }
  }

  async delete(id: string): Promise<void> {
    const parsed = parseArtifactId(id);
    if (parsed === null) return;
    const path = this.pathOf(id, parsed.expiresAtMs);
    try {
      await rm(`${path}.json`, { force: true });
      await rm(path, { force: true });
    } catch (error) {
      throw folderError(error);
    }
  }

  async sweep(): Promise<number> {
    const nowMs = this.artifactIds.clock.nowMs();
    try {
      const hours = await listFolder(this.root);
      let deleted = 0;
      for (const hour of hours.filter((name) => /^\d{8}$/.test(name) && name <= hourOf(nowMs))) {
        deleted += await this.sweepHour(join(this.root, hour), nowMs, hour < hourOf(nowMs));
      }
      await this.sweepPartial(nowMs);
      return deleted;
    } catch (error) {
      throw folderError(error);
    }
  }

  async ping(): Promise<void> {
    const probe = join(this.partial, `ping.${randomBytes(6).toString('hex')}`);
    try {
      await mkdir(this.partial, { recursive: true, mode: 0o700 });
      // A full disk still accepts empty files.
      await writeFile(probe, Buffer.alloc(probeBytes));
      await rm(probe);
    } catch (error) {
      await rm(probe, { force: true }).catch(() => undefined);
      throw folderError(error);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private pathOf(id: string, expiresAtMs: number): string {
    return join(this.root, artifactPath(id, expiresAtMs));
  }

  private async locate(id: string): Promise<{ record: ArtifactRecord; path: string }> {
    const record = await this.find(id);
    if (record === null) throw mediaNotFound();
    return { record, path: this.pathOf(id, record.expiresAtMs) };
  }

  /** Moves complete bytes into place, then their record, which makes them visible. */
  private async keep(record: ArtifactRecord, writeContent: (target: string) => Promise<void>): Promise<ArtifactRecord> {
    const path = this.pathOf(record.id, record.expiresAtMs);
    const part = join(this.partial, `${record.id}.${randomBytes(6).toString('hex')}.json`);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await writeContent(path);
      await writeFile(part, JSON.stringify(record), { mode: 0o600, flush: true });
      await rename(part, `${path}.json`);
    } catch (error) {
      await Promise.all([rm(part, { force: true }), rm(`${path}.json`, { force: true }), rm(path, { force: true })]);
      throw error;
    }
    return record;
  }

  private async sweepHour(folder: string, nowMs: number, isOver: boolean): Promise<number> {
    const names = await listFolder(folder);
    const due = names.filter((name) => {
      const parsed = parseArtifactId(name);
      return parsed !== null && parsed.expiresAtMs <= nowMs;
    });
    for (const name of due) {
      await rm(join(folder, `${name}.json`), { force: true });
      await rm(join(folder, name), { force: true });
    }
    if (isOver) await rm(folder, { recursive: true, force: true });
    return due.length;
  }

  private async sweepPartial(nowMs: number): Promise<void> {
    for (const name of await listFolder(this.partial)) {
      const path = join(this.partial, name);
      const found = await stat(path).catch(() => null);
      if (found !== null && found.mtimeMs < nowMs - abandonedMs) await rm(path, { force: true });
    }
  }
}

async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (isMissingFile(error)) return [];
    throw error;
  }
}

/** Syncs to the disk, so that a rename after it never shows an empty file. */
async function writeWhole(
  path: string,
  content: ArtifactContent,
  { maxBytes, signal }: PutOptions,
): Promise<{ bytes: number; sha256: string }> {
  const meter = new ContentMeter(maxBytes);
  const handle = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunksOf(content, signal)) {
      meter.add(chunk);
      for (let offset = 0; offset < chunk.length;) offset += (await handle.write(chunk, offset)).bytesWritten;
    }
    await handle.datasync();
  } finally {
    await handle.close();
  }
  return { bytes: meter.bytes, sha256: meter.sha256() };
}
