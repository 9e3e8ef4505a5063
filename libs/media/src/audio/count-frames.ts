import { createReadStream } from 'node:fs';
import { maxFrameBytes, maxFrameHeaderBytes, readConfirmedHeader, readFrameHeader } from '../tools/frame-headers.js';
import { identifyMedia, type MediaSource } from '../tools/media-source.js';

const partBytes = 1_048_576;
/** Bytes behind a frame's start that are needed to confirm it. */
const neededBytes = maxFrameBytes + maxFrameHeaderBytes;

/**
 * Returns the length in seconds of a stream of MPEG audio or ADTS, by its frames: each header states its own length,
 * whatever the rate of those before it. Nothing is decoded. Null for other containers. Never less than what a decoder
 * makes of it, but for a frame or two beside damage.
 */
export async function countFrames(source: MediaSource, signal?: AbortSignal): Promise<number | null> {
  const { container, skipBytes } = await identifyMedia(source);
  if (container !== 'mp3' && container !== 'aac') return null;
  const counter = new FrameCounter();
  for await (const part of partsOf(source, skipBytes)) {
    signal?.throwIfAborted();
    counter.push(part);
  }
  return counter.finish();
}

async function* partsOf(source: MediaSource, start: number): AsyncGenerator<Buffer> {
  if (source instanceof Uint8Array) {
    yield Buffer.from(source.buffer, source.byteOffset, source.byteLength).subarray(start);
    return;
  }
  yield* createReadStream(source.path, { start, highWaterMark: partBytes }) as AsyncIterable<Buffer>;
}

/** Goes from frame to frame. Where one does not begin, the next two consecutive ones are searched. */
class FrameCounter {
  private seconds = 0;
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes of the next part that belong to a frame already counted. */
  private skip = 0;
  private isInStep = true;

  push(part: Buffer): void {
    const bytes = this.rest.length === 0 ? part : Buffer.concat([this.rest, part]);
    this.count(bytes, bytes.length - neededBytes);
  }

  finish(): number {
    this.count(this.rest, this.rest.length);
    return this.seconds;
  }

  private count(bytes: Buffer, end: number): void {
    let offset = this.skip;
    while (offset < end) offset = this.step(bytes, offset);
    const kept = Math.min(offset, bytes.length);
    this.rest = bytes.subarray(kept);
    this.skip = offset - kept;
  }

  /** Returns where to look next. */
  private step(bytes: Buffer, offset: number): number {
    const header = this.isInStep ? readFrameHeader(bytes, offset) : readConfirmedHeader(bytes, offset);
    this.isInStep = header !== null;
    if (header !== null) {
      this.seconds += header.seconds;
      return offset + header.bytes;
    }
    // Tags between joined files are searched too: the length that they state may be wrong.
    const next = bytes.indexOf(0xff, offset + 1);
    return next < 0 ? bytes.length : next;
  }
}
