import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, type RequestCaller } from './route-access.js';
import { type EventFormat, SseWriter } from './sse-writer.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent until a handler asks for it with `@Exchange()`. */
    exchange?: HttpExchange;
  }
}

/** One request and the response to it, as a handler gets them with `@Exchange()`. */
export class HttpExchange {
  /** Keeps the connection alive while a streamed request is prepared. Null: nothing was prepared. */
  preparing: SseWriter | null = null;
  /** Of what is sent during the preparation, and of an error that ends it. */
  format: EventFormat = {};
  private disconnection: AbortSignal | null = null;
  private readonly cleanups: (() => Promise<void>)[] = [];

  constructor(readonly reply: FastifyReply) {}

  get request(): FastifyRequest {
    return this.reply.request;
  }

  /** Who calls. Throws `AUTHENTICATION_FAILED` without a key, which only public and anonymous routes let pass. */
  get caller(): RequestCaller {
    return callerOf(this.request);
  }

  /** Aborts when the client disconnects before the response is sent. */
  get disconnected(): AbortSignal {
    return (this.disconnection ??= disconnectSignal(this.reply));
  }

  /** Sets headers of the response. */
  setHeaders(headers: Record<string, string | number>): void {
    void this.reply.headers(headers);
  }

  /** Sends chunks of a streamed response while it is prepared. */
  async sendEarly(chunks: string[]): Promise<void> {
    await this.preparing?.write(SseWriter.frames(chunks, this.format));
  }

  /** Calls `cleanup` when the handler has failed, or has returned a response and a streamed one was sent. */
  onEnd(cleanup: () => Promise<void>): void {
    this.cleanups.push(cleanup);
  }

  async end(): Promise<void> {
    for (const cleanup of this.cleanups.splice(0)) await cleanup();
  }
}

/** A response that a handler returns and that sends itself, as events do. Other values are sent by Nest. */
export abstract class StreamedResponse {
  /** Resolves when everything was sent. An error before the first byte becomes the response. */
  abstract send(http: HttpExchange): Promise<void>;

  /** The same response, sent inside `run`, which may change an error. */
  within(run: (send: () => Promise<void>) => Promise<void>): StreamedResponse {
    return new EnclosedResponse(this, run);
  }
}

class EnclosedResponse extends StreamedResponse {
  constructor(
    private readonly response: StreamedResponse,
    private readonly run: (send: () => Promise<void>) => Promise<void>,
  ) {
    super();
  }

  send(http: HttpExchange): Promise<void> {
    return this.run(() => this.response.send(http));
  }
}

/** The request and response of a handler, which returns what it responds with: JSON, text, bytes, `StreamableFile`, or `StreamedResponse`. */
export const Exchange = createParamDecorator<undefined>((_data, context: ExecutionContext): HttpExchange => {
  const reply = context.switchToHttp().getResponse<FastifyReply>();
  return (reply.request.exchange ??= new HttpExchange(reply));
});

/** Returns a signal that aborts when the connection closes before the response is sent. */
function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (reply.raw.destroyed || reply.raw.socket?.destroyed === true) controller.abort();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
