import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { PlatformError } from '#common';
import type { ExchangeSigning } from '../exchange/index.js';
import type { ResponseEnding, ResponseRecording } from '../idempotency/index.js';

export interface SseWriterOptions {
  /** How long one write may wait for a client that reads nothing, in ms. */
  stalledMs: number;
  /** Silence after which `keepAlive` is sent, in ms. */
  keepAliveMs: number;
  /** The frame that keeps a silent connection open. Default: a comment. */
  keepAlive?: string;
}

/** How the chunks of a stream become server-sent events. */
export interface EventFormat {
  /** The event of a chunk; default: its data and nothing else. */
  frame?(json: string): string;
  /** The chunks of an error after part of the stream was sent; default: one with OpenAI's error object. */
  fail?(error: PlatformError): string[];
  /** The frame that keeps a silent connection open; default: a comment. */
  readonly keepAlive?: string;
  /** The frame behind the last event of a complete response; default: `[DONE]`. */
  readonly ending?: string;
}

/**
 * How a write ended. `gone`: the client disconnected. `stalled`: it read nothing for `stalledMs` and was disconnected.
 */
export type SseWriteResult = 'written' | 'gone' | 'stalled';

/**
 * One response as server-sent events. Sends nothing before the first frame, so that an early failure still gets an HTTP
 * status. `write` resolves when the socket accepted the bytes; awaiting it applies backpressure and bounds the memory
 * of a slow client.
 */
export class SseWriter {
  private readonly raw: ServerResponse;
  private readonly recording: ResponseRecording | null;
  private readonly signing: ExchangeSigning | null;
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly reply: FastifyReply,
    private readonly options: SseWriterOptions,
  ) {
    this.raw = reply.raw;
    this.recording = reply.request.responseRecording;
    this.signing = reply.request.exchangeSigning ?? null;
  }

  /** Returns the frames of chunks of JSON. */
  static frames(chunks: string[], format: EventFormat): string {
    return chunks.map((json) => format.frame?.(json) ?? sseData(json)).join('');
  }

  /** True once the status line was sent; errors are then sent as frames. */
  get started(): boolean {
    return this.raw.headersSent;
  }

  /** Keeps the connection open after every `keepAliveMs` of silence; the first time starts the response. */
  startKeepAlive(): void {
    const { keepAlive = ': keep-alive\n\n' } = this.options;
    this.keepAlive = setInterval(() => {
      if (this.writable && !this.raw.writableNeedDrain) this.send(keepAlive);
    }, this.options.keepAliveMs);
  }

  /** Ends the comments of `startKeepAlive`; the response stays open. */
  stopKeepAlive(): void {
    clearInterval(this.keepAlive);
  }

  /** Writes whole frames (`data: …\n\n`). */
  async write(frames: string): Promise<SseWriteResult> {
    if (!this.writable) return 'gone';
    this.keepAlive?.refresh();
    if (this.send(frames)) return 'written';
    return await this.drained();
  }

  /** Writes the last frames of a complete response. Where it is signed, that happens first: whoever has read them finds the signature. */
  async writeLast(frames: string): Promise<SseWriteResult> {
    this.stopKeepAlive();
    if (this.signing !== null && this.writable) await this.signing.complete(frames);
    return await this.write(frames);
  }

  /** Ends the response, complete or after an error frame; no effect after the client disconnected. */
  end(ending: ResponseEnding = 'whole'): void {
    this.stopKeepAlive();
    if (!this.started || !this.writable) return;
    if (this.recording === null) this.raw.end();
    else void this.recording.end(ending).finally(() => this.raw.end());
  }

  private get writable(): boolean {
    return !this.raw.destroyed && !this.raw.writableEnded && this.raw.socket?.destroyed !== true;
  }

  private send(frames: string): boolean {
    if (!this.started) this.start();
    this.recording?.add(frames);
    this.signing?.add(frames);
    return this.raw.write(frames);
  }

  private start(): void {
    this.reply.hijack();
    const headers = {
      ...(this.reply.getHeaders() as OutgoingHttpHeaders),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    };
    this.recording?.begin(200, headers);
    this.raw.writeHead(200, headers);
  }

  private async drained(): Promise<SseWriteResult> {
    const { raw } = this;
    return await new Promise((resolve) => {
      const finish = (result: SseWriteResult): void => {
        clearTimeout(timer);
        raw.off('drain', onDrain).off('close', onClose);
        if (result === 'stalled') raw.destroy();
        resolve(result);
      };
      const onDrain = (): void => finish('written');
      const onClose = (): void => finish('gone');
      const timer = setTimeout(() => finish('stalled'), this.options.stalledMs);
      raw.once('drain', onDrain).once('close', onClose);
    });
  }
}

/** Formats one `data:` frame. */
export function sseData(json: string): string {
  return `data: ${json}\n\n`;
}
