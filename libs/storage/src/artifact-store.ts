import type { Readable } from 'node:stream';
import type { ArtifactKind, ArtifactRecord } from './artifact.js';

/** Bytes on their way in: at once, or in parts that are never held together. */
export type ArtifactContent = Uint8Array | AsyncIterable<Uint8Array>;

export interface PutOptions {
  contentType: string;
  /** More fail with `PAYLOAD_TOO_LARGE`, and nothing is kept. Default: no bound. */
  maxBytes?: number;
  /** Stops the storing; nothing is kept. */
  signal?: AbortSignal;
}

export interface NewArtifactOptions extends PutOptions {
  kind: ArtifactKind;
  /** From now, in ms. Default: what the store was made with (24 h). */
  lifetimeMs?: number;
}

/** Both ends included, as in HTTP. */
export interface ByteRange {
  first: number;
  last: number;
}

export interface OpenArtifact {
  record: ArtifactRecord;
  /** Fails when the stored bytes are not the ones that were put. Destroy it when you stop early. */
  stream: Readable;
}

/**
 * Inputs and results of media jobs by reference, so that no queue, row or log ever carries their bytes. Any process may
 * put and read; whoever knows an id may read it, so ids travel in sealed payloads and rows alone.
 *
 * Every method rejects with `SERVICE_UNAVAILABLE` when the store does not answer. A missing, deleted or expired id is
 * `MEDIA_NOT_FOUND`, and so is what is no id.
 */
export abstract class ArtifactStore {
  /** Stores a new artifact; it exists wholly or not at all. Rejects with `STORAGE_FULL` where there is no room. */
  abstract put(content: ArtifactContent, options: NewArtifactOptions): Promise<ArtifactRecord>;
  /** An id to store under later, by this or another process: a download link can name it before there is a result. */
  abstract reserve(kind: ArtifactKind, lifetimeMs?: number): string;
  /** Stores under a reserved id; a second time replaces the first, as a retried job does. */
  abstract putReserved(id: string, content: ArtifactContent, options: PutOptions): Promise<ArtifactRecord>;
  /** The record, or null when there is none (any more). */
  abstract find(id: string): Promise<ArtifactRecord | null>;
  abstract open(id: string, range?: ByteRange): Promise<OpenArtifact>;
  /** The whole content, its sha256 checked. Rejects with `PAYLOAD_TOO_LARGE` above `maxBytes`. */
  abstract read(id: string, maxBytes: number): Promise<{ record: ArtifactRecord; bytes: Buffer }>;
  /**
   * Lends the content as a file of this machine, for tools that must seek: the stored file itself or a copy that is
   * deleted afterwards. Never write to it, and do not keep the path.
   */
  abstract withFile<Result>(
    id: string,
    use: (path: string, record: ArtifactRecord) => Promise<Result>,
  ): Promise<Result>;
  /** The same content under a new id with a life of its own. Cheap: no bytes pass this process. */
  abstract copy(id: string, options: { kind: ArtifactKind; lifetimeMs?: number }): Promise<ArtifactRecord>;
  /** True also when there was nothing to delete. */
  abstract delete(id: string): Promise<void>;
  /** Deletes what has expired, and what was left half-written over an hour ago. Answers how many artifacts went. */
  abstract sweep(): Promise<number>;
  /** Resolves when the store can be read and written; for readiness. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}
