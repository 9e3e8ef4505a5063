import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { StreamableFile } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { from, lastValueFrom, mergeMap, NEVER, type Observable, of } from 'rxjs';
import { PlatformError } from '#common';
import { type HttpExchange, StreamedResponse } from '#platform/http';
import { Logger } from '#platform/logging';
import { ClientDisconnectedError } from './job-stream.js';
import { failStream } from './stream-events.js';

/** Stands for a response that was sent already, or that no client waits for. */
const nothing = Symbol('nothing left to send');

/**
 * Sends what a handler returns and Nest cannot send: responses that stream themselves, nothing to a client that
 * disconnected, and an error after comments kept the connection alive. Then it runs the cleanups of the exchange.
 */
@Injectable()
export class ExchangeInterceptor implements NestInterceptor {
  constructor(private readonly logger: Logger) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    // `NEVER` keeps Nest from sending a second response.
    return from(this.respond(reply, next)).pipe(mergeMap((value) => (value === nothing ? NEVER : of(value))));
  }

  private async respond(reply: FastifyReply, next: CallHandler): Promise<unknown> {
    const { request } = reply;
    try {
      const value: unknown = await lastValueFrom(next.handle());
      const { exchange } = request;
      if (exchange === undefined) return value;
      if (value instanceof StreamedResponse) {
        await value.send(exchange);
        await this.end(exchange);
        return nothing;
      }
      if (value instanceof StreamableFile) value.getStream().once('close', () => void this.end(exchange));
      // The client does not wait for the cleanups.
      else void this.end(exchange);
      return value;
    } catch (error) {
      const isOver = await this.isOver(error, reply);
      await this.end(request.exchange);
      if (!isOver) throw error;
      return nothing;
    }
  }

  /** Whether no error response can follow: the client is gone, or gets the error as the last event of its stream. */
  private async isOver(error: unknown, reply: FastifyReply): Promise<boolean> {
    if (error instanceof ClientDisconnectedError) {
      reply.hijack();
      return true;
    }
    const { exchange, accessRecord } = reply.request;
    // A comment was sent while the request was prepared: the status line is gone.
    if (exchange?.preparing?.started !== true) return false;
    if (accessRecord) accessRecord.errorCode = PlatformError.from(error).code;
    await failStream(exchange.preparing, error, exchange.format);
    return true;
  }

  private async end(exchange: HttpExchange | undefined): Promise<void> {
    try {
      await exchange?.end();
    } catch (error) {
      this.logger.error({ requestId: exchange?.request.id, error }, 'the cleanup after a request failed');
    }
  }
}
