import type { Readable } from 'node:stream';
import type { ArtifactKind, ArtifactRecord } from './artifact.js';

/** Content to store: all bytes, or parts that are never held together. */
export type ArtifactContent = Uint8Array | AsyncIterable<Uint8Array>;

export interface PutOptions {
  contentType: string;
  /** Maximum size; more fails with `PAYLOAD_TOO_LARGE`, and nothing is stored. Default: no limit. */
  maxBytes?: number;
  /** Aborts the write; nothing is stored. */
  signal?: AbortSignal;
}

export interface NewArtifactOptions extends PutOptions {
  kind: ArtifactKind;
  /** Lifetime from now, in ms. Default: that of the store (24 h). */
  lifetimeMs?: number;
}

/** Both ends included, as in HTTP. */
export interface ByteRange {
  first: number;
  last: number;
}

export interface OpenArtifact {
  record: ArtifactRecord;
  /** Fails if the stored bytes differ from those written. Destroy it to stop early. */
  stream: Readable;
}

/**
 * Stores inputs and results of media jobs by reference, so that no queue, row or log contains their bytes. Any process
 * may write and read. An id is sufficient to read its artifact, so ids are only in sealed payloads and rows.
 *
 * Every method rejects with `SERVICE_UNAVAILABLE` if the store is unavailable. A missing, deleted, expired or malformed
 * id is `MEDIA_NOT_FOUND`.
 */
export abstract class ArtifactStore {
  /**
   * The same store, whose new ids are those of a model's jobs: the workers of its pool can read and write them, those of other pools
   * with credentials of their own cannot.
   */
  abstract ofModel(modelId: string): ArtifactStore;
  /** Stores a new artifact, completely or not at all. Rejects with `STORAGE_FULL` if there is no room. */
  abstract put(content: ArtifactContent, options: NewArtifactOptions): Promise<ArtifactRecord>;
  /** Returns an id for a later write by any process, so that a download link can name it before there is a result. */
  abstract reserve(kind: ArtifactKind, lifetimeMs?: number): string;
  /** Stores under a reserved id; a second write replaces the first, as for a retried job. */
  abstract putReserved(id: string, content: ArtifactContent, options: PutOptions): Promise<ArtifactRecord>;
  /** Returns the record; null if it does not exist or has expired. */
  abstract find(id: string): Promise<ArtifactRecord | null>;
  abstract open(id: string, range?: ByteRange): Promise<OpenArtifact>;
  /** Returns the whole content after checking its sha256. Rejects with `PAYLOAD_TOO_LARGE` above `maxBytes`. */
  abstract read(id: string, maxBytes: number): Promise<{ record: ArtifactRecord; bytes: Buffer }>;
  /**
   * Provides the content as a local file for tools that must seek: the stored file itself, or a copy that is deleted
   * afterwards. Callers must not write to it nor keep the path.
   */
  abstract withFile<Result>(
    id: string,
    use: (path: string, record: ArtifactRecord) => Promise<Result>,
  ): Promise<Result>;
  /** Copies the content to a new id with its own lifetime. Cheap: no bytes pass through this process. */
  abstract copy(id: string, options: { kind: ArtifactKind; lifetimeMs?: number }): Promise<ArtifactRecord>;
  /** Succeeds also if there was nothing to delete. */
  abstract delete(id: string): Promise<void>;
  /** Deletes expired artifacts, and partial writes older than an hour. Returns the number of deleted artifacts. */
  abstract sweep(): Promise<number>;
  /** Resolves if the store can be read and written; for readiness. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}
