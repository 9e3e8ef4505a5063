import { createHash, type Hash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { ArtifactContent } from './artifact-store.js';
import { damaged, tooLarge } from './storage-error.js';

/** Counts and hashes a byte stream. */
export class ContentMeter {
  bytes = 0;
  private readonly hash: Hash = createHash('sha256');

  constructor(private readonly maxBytes = Number.POSITIVE_INFINITY) {}

  /** Throws `PAYLOAD_TOO_LARGE` at the first byte over the limit. */
  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes > this.maxBytes) throw tooLarge(this.maxBytes);
    this.hash.update(chunk);
  }

  sha256(): string {
    return this.hash.digest('hex');
  }
}

/** Yields the parts of a content in either form. */
export async function* chunksOf(content: ArtifactContent, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  if (content instanceof Uint8Array) {
    yield content;
    return;
  }
  for await (const chunk of content) {
    signal?.throwIfAborted();
    if (chunk.length > 0) yield chunk;
  }
}

/** Passes bytes on and fails at their end if they do not match the record. */
export class ContentCheck extends Transform {
  private readonly meter = new ContentMeter();

  constructor(private readonly expected: { bytes: number; sha256: string }) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.meter.add(chunk);
    done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    const { bytes, sha256 } = this.expected;
    done(this.meter.bytes === bytes && this.meter.sha256() === sha256 ? null : damaged());
  }
}
