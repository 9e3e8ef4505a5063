import { PlatformError } from '#common';
import type { ReplyEvent } from '#queue';
import { type ArtifactStore, discard } from '#storage';

/** The audio of a job as events: inline bytes, stored bytes, and the end. */
export type AudioEvent = ReplyEvent &
  (
    | { type: 'sound-part'; /** Base64. */ data: string }
    | { type: 'sound-stored'; artifactId: string; bytes: number }
    | { type: 'sound-ended'; /** Samples of the single channel before encoding. */ samples: number }
  );

type AudioPart = { bytes: Buffer } | { artifactId: string; length: number };

/**
 * Buffers the audio of one request between its job and a possibly slower client: at most a megabyte here, the rest in
 * the storage. Stored parts are deleted once read.
 */
export class AudioRelay {
  /** Samples in total; known at the end. */
  samples = 0;
  private parts: AudioPart[] = [];
  private length = 0;
  private ended = false;
  private failure: Error | null = null;
  private wake: () => void = () => undefined;

  constructor(private readonly artifacts: ArtifactStore) {}

  /** Bytes of all parts so far. */
  get bytes(): number {
    return this.length;
  }

  take(event: AudioEvent): void {
    if (event.type === 'sound-ended') this.samples = event.samples;
    else if (event.type === 'sound-part') this.push({ bytes: Buffer.from(event.data, 'base64') });
    else this.push({ artifactId: event.artifactId, length: event.bytes });
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  /** Parts already read stay valid; the reader sees the error next. */
  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : PlatformError.from(error);
    this.wake();
  }

  /** Resolves when a part can be read; rejects if the job failed before. */
  async started(): Promise<void> {
    while (this.parts.length === 0 && !this.ended && this.failure === null) await this.change();
    if (this.parts.length === 0 && this.failure !== null) throw this.failure;
  }

  /** The bytes in order, for one reader; `onHead` may change the first part. Fails with the job's error. */
  async *read(onHead: (head: Buffer) => Buffer = (head) => head): AsyncGenerator<Buffer, void, undefined> {
    let isHead = true;
    for (;;) {
      const part = this.parts.shift();
      if (part !== undefined) {
        for await (const bytes of this.contentOf(part)) {
          yield isHead ? onHead(bytes) : bytes;
          isHead = false;
        }
      } else if (this.failure !== null) throw this.failure;
      else if (this.ended) return;
      else await this.change();
    }
  }

  /** Discards everything unread, here and in the storage. */
  async clear(): Promise<void> {
    const left = this.parts.splice(0);
    this.length = 0;
    await discard(
      this.artifacts,
      left.flatMap((part) => ('artifactId' in part ? [part.artifactId] : [])),
    );
  }

  private push(part: AudioPart): void {
    this.parts.push(part);
    this.length += 'bytes' in part ? part.bytes.length : part.length;
    this.wake();
  }

  private async *contentOf(part: AudioPart): AsyncGenerator<Buffer> {
    if ('bytes' in part) return yield part.bytes;
    try {
      const { stream } = await this.artifacts.open(part.artifactId);
      for await (const bytes of stream as AsyncIterable<Buffer>) yield bytes;
    } finally {
      await discard(this.artifacts, [part.artifactId]);
    }
  }

  private change(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }
}
