import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ResponseEnding, ResponseTape } from './idempotent-request.js';

export interface SseWriterOptions {
  /** How long one write may wait for a reader that takes nothing, in ms. */
  stalledMs: number;
  /** How long the line may stay silent before a comment is sent, in ms. */
  keepAliveMs: number;
}

/** How a write ended. `gone`: the client left. `stalled`: it took nothing for `stalledMs`, and was cut off. */
export type SseWriteResult = 'written' | 'gone' | 'stalled';

/**
 * One answer as server-sent events. Nothing is sent before the first frame, so that a request that fails first
 * still gets an HTTP status. `write` resolves when the socket took the bytes: whoever awaits it is held to the
 * reader's pace, which bounds what a slow reader can cost.
 */
export class SseWriter {
  private readonly raw: ServerResponse;
  private readonly tape: ResponseTape | null;
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly reply: FastifyReply,
    private readonly options: SseWriterOptions,
  ) {
    this.raw = reply.raw;
    this.tape = reply.request.responseTape;
  }

  /** True once the status line is on its way; errors are frames from then on. */
  get started(): boolean {
    return this.raw.headersSent;
  }

  /** Sends a comment after every `keepAliveMs` of silence, the first one starting the answer. */
  startKeepAlive(): void {
    this.keepAlive = setInterval(() => {
      if (this.writable && !this.raw.writableNeedDrain) this.send(': keep-alive\n\n');
    }, this.options.keepAliveMs);
  }

  /** Writes whole frames (`data: …\n\n`). */
  async write(frames: string): Promise<SseWriteResult> {
    if (!this.writable) return 'gone';
    this.keepAlive?.refresh();
    if (this.send(frames)) return 'written';
    return await this.drained();
  }

  /** Ends the answer, whole or after an error frame; harmless when the client has left. */
  end(ending: ResponseEnding = 'whole'): void {
    clearInterval(this.keepAlive);
    if (!this.started || !this.writable) return;
    if (this.tape === null) this.raw.end();
    else void this.tape.end(ending).finally(() => this.raw.end());
  }

  private get writable(): boolean {
    return !this.raw.destroyed && !this.raw.writableEnded && this.raw.socket?.destroyed !== true;
  }

  private send(frames: string): boolean {
    if (!this.started) this.start();
    this.tape?.add(frames);
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
    this.tape?.begin(200, headers);
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

/** One `data:` frame. */
export function sseData(json: string): string {
  return `data: ${json}\n\n`;
}
