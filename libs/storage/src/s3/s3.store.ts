import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline as pipe, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TemporaryFolder } from '#platform/files';
import type { ArtifactIdFactory } from '../artifact-id-factory.js';
import { type ArtifactKind, artifactPath, type ArtifactRecord, hourOf, parseArtifactId } from '../artifact.js';
import type {
  ArtifactContent,
  ArtifactStore,
  ByteRange,
  NewArtifactOptions,
  OpenArtifact,
  PutOptions,
} from '../artifact-store.js';
import { ContentCheck } from '../content-reader.js';
import { folderError, isDenied, mediaNotFound, tooLarge, unavailable } from '../storage-error.js';
import type { Bucket } from './bucket.js';
import { uploadContent } from './s3-upload.js';

const recordType = 'application/json';
/** Maximum record size; records have a few hundred bytes, so anything larger is not ours. */
const maxRecordBytes = 16_384;
/** Age above which a multipart upload is orphaned: its writer was killed. */
const abandonedMs = 3_600_000;

/** Written where an object is denied, to learn whether objects beside it can be read. No artifact is named like this. */
const accessProof = 'sluice-access';

/** The scope of a model, or none, and the hour. */
const folderPattern = /^(?:[0-9a-f]{12}-)?(\d{8})\/$/;

/**
 * Artifacts in a bucket: `<prefix><scope>-<hour>/<id>` and beside it, written last, `<id>.json`. Those of no model have no scope. A
 * lifecycle rule of the bucket may expire objects a day later than we do, as a second safeguard.
 */
export class S3Store implements ArtifactStore {
  constructor(
    private readonly bucket: Bucket,
    /** Empty, or ends in `/`. */
    private readonly prefix: string,
    private readonly artifactIds: ArtifactIdFactory,
    private readonly temporary = new TemporaryFolder(),
  ) {}

  ofModel(modelId: string): S3Store {
    return new S3Store(this.bucket, this.prefix, this.artifactIds.ofModel(modelId), this.temporary);
  }

  reserve(kind: ArtifactKind, lifetimeMs?: number): string {
    return this.artifactIds.newId(kind, lifetimeMs);
  }

  async put(content: ArtifactContent, options: NewArtifactOptions): Promise<ArtifactRecord> {
    return await this.putReserved(this.reserve(options.kind, options.lifetimeMs), content, options);
  }

  async putReserved(id: string, content: ArtifactContent, options: PutOptions): Promise<ArtifactRecord> {
    const key = this.keyOf(id, this.artifactIds.expiryOf(id));
    const measured = await uploadContent(this.bucket, key, content, options);
    return await this.keep(this.artifactIds.record(id, { contentType: options.contentType, ...measured }));
  }

  async find(id: string): Promise<ArtifactRecord | null> {
    const parsed = parseArtifactId(id);
    if (parsed === null || parsed.expiresAtMs <= this.artifactIds.clock.nowMs()) return null;
    const body = await this.get(`${this.keyOf(id, parsed.expiresAtMs)}.json`, parsed.scope);
    return body && (JSON.parse((await collect(body, maxRecordBytes)).toString('utf8')) as ArtifactRecord);
  }

  async open(id: string, range?: ByteRange): Promise<OpenArtifact> {
    const { record, key } = await this.locate(id);
    const body = await this.get(key, parseArtifactId(id)?.scope ?? null, range);
    if (body === null) throw mediaNotFound();
    if (range !== undefined) return { record, stream: body };
    const check = new ContentCheck(record);
    body.once('error', (error) => check.destroy(unavailable(error)));
    return { record, stream: pipe(body, check, () => undefined) };
  }

  async read(id: string, maxBytes: number): Promise<{ record: ArtifactRecord; bytes: Buffer }> {
    const { record, stream } = await this.open(id);
    if (record.bytes > maxBytes) {
      stream.destroy();
      throw tooLarge(maxBytes);
    }
    return { record, bytes: await collect(stream, maxBytes) };
  }

  async withFile<Result>(id: string, use: (path: string, record: ArtifactRecord) => Promise<Result>): Promise<Result> {
    const { record, stream } = await this.open(id);
    try {
      return await this.temporary.with(async (folder) => {
        const path = join(folder, 'content');
        await pipeline(stream, createWriteStream(path, { mode: 0o600 })).catch((error: unknown) => {
          throw folderError(error);
        });
        return await use(path, record);
      });
    } finally {
      stream.destroy();
    }
  }

  async copy(id: string, options: { kind: ArtifactKind; lifetimeMs?: number }): Promise<ArtifactRecord> {
    const { record, key } = await this.locate(id);
    const copy = this.artifactIds.record(this.reserve(options.kind, options.lifetimeMs), record);
    if (!(await this.bucket.copy(key, this.keyOf(copy.id, copy.expiresAtMs)))) throw mediaNotFound();
    return await this.keep(copy);
  }

  async delete(id: string): Promise<void> {
    const parsed = parseArtifactId(id);
    if (parsed === null) return;
    const key = this.keyOf(id, parsed.expiresAtMs);
    await this.bucket.delete(`${key}.json`);
    await this.bucket.delete(key);
  }

  async sweep(): Promise<number> {
    const nowMs = this.artifactIds.clock.nowMs();
    let deleted = 0;
    for await (const folder of this.bucket.list(this.prefix)) {
      const [, hour] = folderPattern.exec(folder.slice(this.prefix.length)) ?? [];
      if (hour !== undefined && hour <= hourOf(nowMs)) deleted += await this.sweepHour(folder, nowMs);
    }
    await this.abortAbandoned(nowMs);
    return deleted;
  }

  ping(): Promise<void> {
    return this.bucket.ping();
  }

  close(): Promise<void> {
    return this.bucket.close();
  }

  private keyOf(id: string, expiresAtMs: number): string {
    return `${this.placeOf(parseArtifactId(id)?.scope ?? null)}${artifactPath(id, expiresAtMs)}`;
  }

  /** What the keys of all artifacts of a scope begin with. */
  private placeOf(scope: string | null): string {
    return `${this.prefix}${scope === null ? '' : `${scope}-`}`;
  }

  /**
   * Returns the content; null if it does not exist. Servers deny a user who may not list both a missing object and a
   * forbidden one: the object is missing if another one of its scope can be read.
   */
  private async get(key: string, scope: string | null, range?: ByteRange): Promise<Readable | null> {
    try {
      return await this.bucket.get(key, range);
    } catch (error) {
      if (isDenied(error) && (await this.canRead(scope))) return null;
      throw error;
    }
  }

  /** Asks each time: the permissions may have changed. */
  private async canRead(scope: string | null): Promise<boolean> {
    const key = `${this.placeOf(scope)}${accessProof}`;
    if (await this.isReadable(key)) return true;
    await this.bucket.put(key, Buffer.from('.'), 'text/plain');
    return await this.isReadable(key);
  }

  private async isReadable(key: string): Promise<boolean> {
    const body = await this.bucket.get(key).catch((error: unknown) => {
      if (isDenied(error)) return null;
      throw error;
    });
    body?.resume();
    return body !== null;
  }

  private async locate(id: string): Promise<{ record: ArtifactRecord; key: string }> {
    const record = await this.find(id);
    if (record === null) throw mediaNotFound();
    return { record, key: this.keyOf(id, record.expiresAtMs) };
  }

  private async keep(record: ArtifactRecord): Promise<ArtifactRecord> {
    const key = `${this.keyOf(record.id, record.expiresAtMs)}.json`;
    await this.bucket.put(key, Buffer.from(JSON.stringify(record)), recordType);
    return record;
  }

  private async abortAbandoned(nowMs: number): Promise<void> {
    // Some servers cannot list uploads; a lifecycle rule of the bucket does the same there.
    const uploads = await this.bucket.openUploads(this.prefix).catch(() => []);
    for (const upload of uploads) {
      const isOld = upload.startedAtMs < nowMs - abandonedMs;
      if (isOld && this.isArtifact(upload.key)) await this.bucket.abortUpload(upload);
    }
  }

  /** Other applications may use the same bucket, also below the same prefix. */
  private isArtifact(key: string): boolean {
    const id = key.slice(key.lastIndexOf('/') + 1);
    const parsed = parseArtifactId(id);
    return parsed !== null && key === this.keyOf(id, parsed.expiresAtMs);
  }

  private async sweepHour(folder: string, nowMs: number): Promise<number> {
    let deleted = 0;
    for await (const key of this.bucket.list(folder)) {
      const parsed = parseArtifactId(key.slice(folder.length).replace(/\.json$/, ''));
      if (parsed === null || parsed.expiresAtMs > nowMs) continue;
      await this.bucket.delete(key);
      if (!key.endsWith('.json')) deleted += 1;
    }
    return deleted;
  }
}

async function collect(stream: Readable, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of stream as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof Error && error.name === 'PlatformError' ? error : unavailable(error);
  }
  return Buffer.concat(parts);
}
