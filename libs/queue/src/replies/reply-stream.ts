import { PlatformError } from '#common';
import { type FramePart, isFinal } from './reply-frame.js';
import type { ReplyEvent, ReplyStream } from '../contract/transport.js';

interface Reader {
  resolve(result: IteratorResult<ReplyEvent, undefined>): void;
  reject(error: PlatformError): void;
}

/**
 * The events of one request, put back in order and passed to one reader. Duplicates are dropped; a gap, or more than
 * `maxBufferedBytes` unread, ends the iteration with an error. It completes after the final event.
 */
export class BufferedReplyStream implements ReplyStream, AsyncIterator<ReplyEvent, undefined> {
  private buffer: { event: ReplyEvent; bytes: number }[] = [];
  private head = 0;
  private bufferedBytes = 0;
  private reader: Reader | null = null;
  private failure: PlatformError | null = null;
  private complete = false;
  private stream: string | null = null;
  private nextNumber = 0;
  /** Created when a job is delivered a second time, which is rare. */
  private staleStreams: Set<string> | null = null;

  constructor(
    private readonly maxBufferedBytes: number,
    private readonly onClose: () => void,
  ) {}

  [Symbol.asyncIterator](): AsyncIterator<ReplyEvent, undefined> {
    return this;
  }

  next(): Promise<IteratorResult<ReplyEvent, undefined>> {
    const entry = this.buffer[this.head];
    if (entry !== undefined) {
      this.forget(entry.bytes);
      return Promise.resolve({ done: false, value: entry.event });
    }
    if (this.failure !== null) return Promise.reject(this.failure);
    if (this.complete) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject };
    });
  }

  /** Closes the stream when a `for await` ends early. */
  return(): Promise<IteratorResult<ReplyEvent, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  close(): void {
    this.complete = true;
    this.buffer = [];
    this.head = 0;
    this.bufferedBytes = 0;
    this.endReader();
    this.onClose();
  }

  fail(error: PlatformError): void {
    if (this.complete || this.failure !== null) return;
    this.failure = error;
    this.endReader();
  }

  accept(part: FramePart): void {
    if (this.complete || this.failure !== null || !this.follow(part)) return;
    const repeated = this.nextNumber - part.first;
    if (repeated < 0) return this.fail(lostEvents());
    for (const event of part.events.slice(repeated)) this.deliver(event);
    this.nextNumber = Math.max(this.nextNumber, part.first + part.events.length);
  }

  /** Chooses the writer to follow: the newest one received from its start. */
  private follow({ stream, first }: FramePart): boolean {
    if (stream === this.stream) return true;
    if (this.staleStreams?.has(stream)) return false;
    if (first === 0) {
      // The job was delivered again: what the previous delivery still sends is no longer the response.
      if (this.stream !== null) (this.staleStreams ??= new Set()).add(this.stream);
      this.stream = stream;
      this.nextNumber = 0;
      return true;
    }
    this.fail(lostEvents());
    return false;
  }

  private deliver(event: ReplyEvent): void {
    if (this.complete || this.failure !== null) return;
    if (isFinal(event)) this.complete = true;
    if (this.reader !== null) {
      const { resolve } = this.reader;
      this.reader = null;
      resolve({ done: false, value: event });
      return;
    }
    const bytes = approximateBytes(event);
    this.bufferedBytes += bytes;
    this.buffer.push({ event, bytes });
    if (this.bufferedBytes > this.maxBufferedBytes) this.overflow();
  }

  private overflow(): void {
    this.buffer = [];
    this.head = 0;
    this.bufferedBytes = 0;
    this.complete = false;
    this.fail(new PlatformError('SERVICE_UNAVAILABLE', 'The response was read too slowly and was dropped.'));
  }

  private forget(bytes: number): void {
    this.bufferedBytes -= bytes;
    this.head += 1;
    if (this.head < 1_024 && this.head < this.buffer.length) return;
    this.buffer = this.buffer.slice(this.head);
    this.head = 0;
  }

  private endReader(): void {
    const reader = this.reader;
    this.reader = null;
    if (reader === null) return;
    if (this.failure !== null) reader.reject(this.failure);
    else reader.resolve({ done: true, value: undefined });
  }
}

function lostEvents(): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'A part of the response was lost on its way.');
}

/** Estimates the memory of an event, within a factor of two: strings by length, everything else by a flat charge. */
function approximateBytes(value: unknown): number {
  if (typeof value === 'string') return 32 + value.length * 2;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 48;
  for (const member of Object.values(value)) bytes += approximateBytes(member);
  return bytes;
}
