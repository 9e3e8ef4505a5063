import { PlatformError } from '#common';
import type { ReplyEvent } from '#queue';
import { type ArtifactStore, discard } from '#storage';

/** The audio of a job on its way: bytes, bytes in the storage, and the end. */
export type AudioEvent = ReplyEvent &
  (
    | { type: 'audio-part'; /** Base64. */ data: string }
    | { type: 'audio-stored'; artifactId: string; bytes: number }
    | { type: 'audio-ended'; /** Of the one channel, before they were encoded. */ samples: number }
  );

type AudioPart = { bytes: Buffer } | { artifactId: string; length: number };

/**
 * The audio of one request between its job and its reader, who may be slower. At most a megabyte waits here and the
 * rest in the storage, where parts are deleted when they have been read.
 */
export class AudioRelay {
  /** Samples of the whole audio; known when it has ended. */
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
    if (event.type === 'audio-ended') this.samples = event.samples;
    else if (event.type === 'audio-part') this.push({ bytes: Buffer.from(event.data, 'base64') });
    else this.push({ artifactId: event.artifactId, length: event.bytes });
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  /** What was read is valid; a reader that continues gets the error. */
  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : PlatformError.from(error);
    this.wake();
  }

  /** Resolves when there is a part to read; rejects when the job failed before. */
  async started(): Promise<void> {
    while (this.parts.length === 0 && !this.ended && this.failure === null) await this.change();
    if (this.parts.length === 0 && this.failure !== null) throw this.failure;
  }

  /** Returns the bytes in order, for one reader; `onHead` may change the first part. Fails as the job does. */
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

  /** Forgets everything that was not read, here and in the storage. */
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
