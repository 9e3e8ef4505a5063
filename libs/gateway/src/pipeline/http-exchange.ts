import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import type { SseWriter } from '#platform/http';
import type { AccessRecord } from '../access-log/access-record.js';
import { disconnectSignal } from '../request/disconnect-signal.js';
import { frameChunks, type StreamFormat } from './stream-events.js';

/** One request and the response to it. */
export class HttpExchange {
  /** Aborts when the client disconnects before the response is out. */
  readonly disconnected: AbortSignal;
  /** Keeps the connection alive while a streamed request is prepared. Null: nothing was prepared. */
  preparing: SseWriter | null = null;
  /** Of what is sent during the preparation, and of an error that ends it. */
  format: StreamFormat = {};
  private checks = 0;
  private readonly cleanups: (() => Promise<void>)[] = [];

  constructor(readonly reply: FastifyReply) {
    this.disconnected = disconnectSignal(reply);
  }

  get request(): FastifyRequest {
    return this.reply.request;
  }

  /** Of the access log. */
  get record(): AccessRecord | null {
    return this.request.accessRecord ?? null;
  }

  /** Records the error of a response whose status line says that it succeeded. */
  noteFailure(error: unknown): void {
    if (this.record !== null) this.record.errorCode = PlatformError.from(error).code;
  }

  /** Position of the next job that checks an input of this request, from 1. */
  nextCheck(): number {
    return ++this.checks;
  }

  /** Sends chunks of a streamed response while it is prepared. */
  async sendEarly(chunks: string[]): Promise<void> {
    await this.preparing?.write(frameChunks(chunks, this.format));
  }

  /** Calls `cleanup` when the handler has ended, whether it failed or not. */
  onEnd(cleanup: () => Promise<void>): void {
    this.cleanups.push(cleanup);
  }

  async end(): Promise<void> {
    for (const cleanup of this.cleanups.splice(0)) await cleanup();
  }
}
