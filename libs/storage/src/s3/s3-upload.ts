import type { ArtifactContent, PutOptions } from '../artifact-store.js';
import { chunksOf, ContentMeter } from '../content-reader.js';
import type { Bucket, CompletedPart, Upload } from './bucket.js';

/** Part size of an upload, and its memory use; the API requires at least 5 MiB. */
const partBytes = 8 * 1024 * 1024;

/** Uploads content of unknown length: in one request if small, else in parts. A failure leaves no object behind. */
export async function uploadContent(
  bucket: Bucket,
  key: string,
  content: ArtifactContent,
  { contentType, maxBytes, signal }: PutOptions,
): Promise<{ bytes: number; sha256: string }> {
  const meter = new ContentMeter(maxBytes);
  const upload = new PartedUpload(bucket, key, contentType, signal);
  try {
    for await (const part of partsOf(content, meter, signal)) await upload.add(part);
    await upload.finish();
  } catch (error) {
    await upload.abort();
    throw error;
  }
  return { bytes: meter.bytes, sha256: meter.sha256() };
}

/** Yields the content in parts of the same size; the last one is smaller. */
async function* partsOf(
  content: ArtifactContent,
  meter: ContentMeter,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(content, signal)) {
    meter.add(chunk);
    for (let offset = 0; offset < chunk.length;) {
      const piece = chunk.subarray(offset, offset + partBytes - bytes);
      // Copies, because the source may overwrite the chunk once the next one is requested.
      waiting.push(Buffer.from(piece));
      bytes += piece.length;
      offset += piece.length;
      if (bytes === partBytes) {
        yield Buffer.concat(waiting);
        waiting = [];
        bytes = 0;
      }
    }
  }
  yield Buffer.concat(waiting);
}

class PartedUpload {
  private held: Buffer | null = null;
  private upload: Upload | null = null;
  private readonly parts: CompletedPart[] = [];

  constructor(
    private readonly bucket: Bucket,
    private readonly key: string,
    private readonly contentType: string,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** The first part is held back until it is known whether it is the only one. */
  async add(part: Buffer): Promise<void> {
    if (this.held !== null) await this.send(this.held);
    this.held = part;
  }

  async finish(): Promise<void> {
    const last = this.held ?? Buffer.alloc(0);
    if (this.upload === null) return await this.bucket.put(this.key, last, this.contentType, this.signal);
    if (last.length > 0) await this.send(last);
    await this.bucket.finishUpload(this.upload, this.parts);
  }

  async abort(): Promise<void> {
    if (this.upload === null) return;
    // The sweep aborts what remains; the original error matters more.
    await this.bucket.abortUpload(this.upload).catch(() => undefined);
  }

  private async send(part: Buffer): Promise<void> {
    this.upload ??= await this.bucket.startUpload(this.key, this.contentType);
    this.parts.push(await this.bucket.putPart(this.upload, this.parts.length + 1, part, this.signal));
  }
}
