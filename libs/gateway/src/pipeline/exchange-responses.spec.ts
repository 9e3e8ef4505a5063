import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { Controller, Get, Module, Post, StreamableFile } from '@nestjs/common';
import { APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { DownloadService } from '#jobs';
import { ApiRoute, type DocumentedRoute, Exchange, type HttpExchange, type StreamedResponse } from '#platform/http';
import { Logger } from '#platform/logging';
import { DownloadController } from '../media/download.controller.js';
import { ExchangeInterceptor } from './exchange.interceptor.js';
import type { StartedJob } from './job-runner.js';
import { EventStream } from './stream-events.js';

const document = (operationId: string): DocumentedRoute => ({
  tags: [],
  operationId,
  summary: operationId,
  responses: { 200: {}, 202: {} },
  errors: [],
});

const cleaned: string[] = [];
const disconnected: string[] = [];
const content = Buffer.from('0123456789');

function cleanUp(http: HttpExchange, name: string): void {
  http.onEnd(async () => void cleaned.push(name));
}

const job: StartedJob<{ type: 'text' }> = {
  follow: async (onEvent) => {
    await onEvent({ type: 'text' });
    return noTokens;
  },
};

@Controller()
class Responses {
  @Post('json')
  @ApiRoute(document('json'))
  json(@Exchange() http: HttpExchange): object {
    cleanUp(http, 'json');
    http.setHeaders({ 'x-service-model-id': 'm' });
    return { id: 'x' };
  }

  @Post('accepted')
  @ApiRoute(document('accepted'))
  accepted(@Exchange() http: HttpExchange): object {
    void http.reply.status(202);
    return {};
  }

  @Post('events')
  @ApiRoute(document('events'))
  events(@Exchange() http: HttpExchange): StreamedResponse {
    cleanUp(http, 'events');
    const presenter = { present: () => ['{"text":"a"}'], finish: () => [] };
    return new EventStream(job, presenter, { keepAliveMs: 60_000, stalledMs: 60_000 });
  }

  @Post('endless')
  @ApiRoute(document('endless'))
  endless(@Exchange() http: HttpExchange): StreamableFile {
    cleanUp(http, 'endless');
    http.disconnected.addEventListener('abort', () => disconnected.push('endless'));
    const body = new Readable({ read: () => undefined });
    body.push('a');
    return new StreamableFile(body, { type: 'audio/mpeg' });
  }

  @Get('none')
  none(): object {
    return { exchange: 'not asked for' };
  }
}

const record = { contentType: 'image/png', bytes: content.length };
const downloads = {
  look: async () => record,
  open: async (
    _token: string,
    _address: string,
    choose: (bytes: number) => { first: number; last: number } | undefined,
  ) => {
    const { first = 0, last = content.length - 1 } = choose(content.length) ?? {};
    return { record, stream: Readable.from([content.subarray(first, last + 1)], { objectMode: false }) };
  },
};

@Module({
  controllers: [Responses, DownloadController],
  providers: [
    { provide: Logger, useValue: { error: () => undefined } },
    { provide: DownloadService, useValue: downloads },
    { provide: APP_INTERCEPTOR, useClass: ExchangeInterceptor },
  ],
})
class ResponsesModule {}

let app: NestFastifyApplication;
let origin: string;

beforeAll(async () => {
  app = await NestFactory.create<NestFastifyApplication>(ResponsesModule, new FastifyAdapter(), { logger: false });
  const server = app.getHttpAdapter().getInstance();
  server.decorateRequest('caller', null);
  server.decorateRequest('responseRecording', null);
  await app.listen(0, '127.0.0.1');
  origin = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});
afterAll(() => app.close());

const post = (path: string, signal?: AbortSignal) =>
  fetch(`${origin}/${path}`, { method: 'POST', ...(signal && { signal }) });

describe('what a handler returns', () => {
  it('is sent as JSON with the headers of the exchange and the first documented status', async () => {
    const response = await post('json');
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'm']);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({ id: 'x' });
    await expect.poll(() => cleaned).toContain('json');
    expect((await post('accepted')).status).toBe(202);
    expect(await (await fetch(`${origin}/none`)).json()).toEqual({ exchange: 'not asked for' });
  });

  it('is sent as events', async () => {
    const response = await post('events');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(await response.text()).toBe('data: {"text":"a"}\n\ndata: [DONE]\n\n');
    await expect.poll(() => cleaned).toContain('events');
  });

  it('ends with its client, and is cleaned up then', async () => {
    const client = new AbortController();
    const response = await post('endless', client.signal);
    expect(response.headers.get('content-type')).toBe('audio/mpeg');
    expect(cleaned).not.toContain('endless');
    client.abort();
    await expect.poll(() => [disconnected, cleaned.includes('endless')]).toEqual([['endless'], true]);
  });
});

describe('a download', () => {
  it('is sent whole, in part, or as its size', async () => {
    const shown = async (init: RequestInit) => {
      const response = await fetch(`${origin}/media/token`, init);
      const { headers, status } = response;
      return [status, headers.get('content-length'), headers.get('content-range'), await response.text()];
    };
    expect(await shown({})).toEqual([200, '10', null, '0123456789']);
    expect(await shown({ headers: { range: 'bytes=2-4' } })).toEqual([206, '3', 'bytes 2-4/10', '234']);
    expect(await shown({ method: 'HEAD' })).toEqual([200, '10', null, '']);
    const response = await fetch(`${origin}/media/token`);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="media.png"');
    expect(await response.text()).toBe('0123456789');
  });
});
