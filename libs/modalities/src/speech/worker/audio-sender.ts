import { PlatformError } from '#common';
import type { ReplyWriter } from '#queue';
import type { ArtifactStore } from '#storage';
import { maxInlineBytes, type AudioPartEvent, type AudioStoredEvent } from '../contract/index.js';

/** Encoders write in small pieces: output within this time is sent together, in ms. */
const gatherMs = 20;

/** Maximum size of a reply event and of an artifact part, in bytes. */
const maxEventBytes = 64 * 1_024;
const maxStoredBytes = 1_024 * 1_024;

/** Longer than the slowest reader of the longest response may take, in ms; readers delete what they took. */
const lifetimeMs = 7_200_000;

/**
 * Sends encoded audio to the api: the first megabyte as events, the rest through the artifact store. Neither the reply
 * channel nor the api then holds more than that, however slowly the client reads.
 */
export class AudioSender {
  private gathered: Buffer[] = [];
  private gatheredBytes = 0;
  private inlineBytes = 0;
  private timer: NodeJS.Timeout | null = null;
  private sending: Promise<void> = Promise.resolve();
  private failure: PlatformError | null = null;

  constructor(
    private readonly replies: ReplyWriter,
    private readonly artifacts: ArtifactStore,
    private readonly contentType: string,
  ) {}

  /** Rethrows an earlier error of the artifact store. */
  add(bytes: Buffer): void {
    if (this.failure !== null) throw this.failure;
    this.gathered.push(bytes);
    this.gatheredBytes += bytes.length;
    if (this.gatheredBytes >= this.roomOfPart) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), gatherMs);
  }

  /** Resolves when everything has been handed over; rejects as the artifact store does. */
  async finish(): Promise<void> {
    this.flush();
    await this.sending;
    if (this.failure !== null) throw this.failure;
  }

  /** Stops sending. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.gathered = [];
    this.gatheredBytes = 0;
  }

  private get roomOfPart(): number {
    return this.inlineBytes < maxInlineBytes ? maxEventBytes : maxStoredBytes;
  }

  private flush(): void {
    const bytes = Buffer.concat(this.gathered);
    this.stop();
    if (bytes.length === 0) return;
    for (let start = 0; start < bytes.length;) {
      const part = bytes.subarray(start, start + this.roomOfPart);
      start += part.length;
      if (this.inlineBytes < maxInlineBytes) this.sendInline(part);
      else this.sendStored(part);
    }
  }

  private sendInline(part: Buffer): void {
    this.inlineBytes += part.length;
    const event: AudioPartEvent = { type: 'audio-part', data: part.toString('base64') };
    this.inOrder(() => this.replies.send(event));
  }

  private sendStored(part: Buffer): void {
    this.inOrder(async () => {
      const { contentType } = this;
      const { id, bytes } = await this.artifacts.put(part, { kind: 'result', contentType, lifetimeMs });
      const event: AudioStoredEvent = { type: 'audio-stored', artifactId: id, bytes };
      this.replies.send(event);
    });
  }

  private inOrder(send: () => void | Promise<void>): void {
    this.sending = this.sending.then(async () => {
      if (this.failure === null) await send();
    });
    this.sending = this.sending.catch((error: unknown) => {
      this.failure ??= PlatformError.from(error, 'SERVICE_UNAVAILABLE');
    });
  }
}
