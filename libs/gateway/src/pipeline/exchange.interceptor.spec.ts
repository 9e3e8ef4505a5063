import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { defer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { HttpExchange, StreamedResponse } from '#platform/http';
import { testDouble } from '#test/test-double';
import { ExchangeInterceptor } from './exchange.interceptor.js';
import { ClientDisconnectedError } from './job-stream.js';

/** Runs a handler. `sends` is what Nest would send or throw; it stays undefined where nothing follows. */
function handle(handler: (http: HttpExchange) => Promise<unknown>) {
  const cleaned: string[] = [];
  const seen: { hijacked?: true; sends?: unknown } = {};
  const logged: string[] = [];
  const reply = { request: {} as Record<string, unknown>, hijack: () => (seen.hijacked = true) };
  const http = new HttpExchange(Object.assign(reply, { request: { id: 'r' } }) as unknown as FastifyReply);
  http.request.exchange = http;
  http.onEnd(async () => void cleaned.push('input'));
  const interceptor = new ExchangeInterceptor(
    testDouble({
      error: (_about: object, message?: string) => void logged.push(message ?? ''),
    }),
  );
  const context = { switchToHttp: () => ({ getResponse: () => reply }) };
  const note = (value: unknown): void => void (seen.sends = value);
  interceptor
    .intercept(context as never, { handle: () => defer(() => handler(http)) })
    .subscribe({ next: note, error: note });
  return { http, seen, cleaned, logged };
}

class Events extends StreamedResponse {
  constructor(private readonly work: () => Promise<void>) {
    super();
  }

  send(): Promise<void> {
    return this.work();
  }
}

describe('the interceptor of exchanges', () => {
  it('leaves what Nest sends to Nest, and cleans up', async () => {
    const body = { id: 'x' };
    const { seen, cleaned } = handle(async () => body);
    await expect.poll(() => cleaned).toEqual(['input']);
    expect(seen).toEqual({ sends: body });
  });

  it('has a streamed response send itself before it cleans up', async () => {
    const steps: string[] = [];
    const { seen, cleaned } = handle(
      async () => new Events(async () => void steps.push(`sent, cleaned ${cleaned.length}`)),
    );
    await expect.poll(() => cleaned).toEqual(['input']);
    expect([steps, seen]).toEqual([['sent, cleaned 0'], {}]);
  });

  it('cleans up after a file when its stream has ended', async () => {
    const stream = Readable.from([Buffer.from('a')]);
    const { seen, cleaned } = handle(async () => new StreamableFile(stream));
    await expect.poll(() => seen.sends).toBeInstanceOf(StreamableFile);
    expect(cleaned).toEqual([]);
    stream.resume();
    await expect.poll(() => cleaned).toEqual(['input']);
  });

  it('sends nothing to a disconnected client, and always cleans up', async () => {
    const inHandler = async (error: Error): Promise<unknown> => {
      throw error;
    };
    const inStream = async (error: Error): Promise<unknown> =>
      new Events(async () => {
        throw error;
      });
    for (const failWith of [inHandler, inStream]) {
      const disconnected = handle(() => failWith(new ClientDisconnectedError()));
      await expect.poll(() => disconnected.cleaned).toEqual(['input']);
      expect(disconnected.seen).toEqual({ hijacked: true });
      const error = new PlatformError('INVALID_REQUEST', 'No.');
      const failed = handle(() => failWith(error));
      await expect.poll(() => failed.seen).toEqual({ sends: error });
      expect(failed.cleaned).toEqual(['input']);
    }
  });

  it('ends a stream with an error frame where its request fails after comments kept it alive', async () => {
    const failing = (started: boolean) => {
      const written: string[] = [];
      const writer = {
        started,
        write: async (frames: string) => written.push(frames),
        end: (how: string) => written.push(how),
      };
      const error = new PlatformError('MODEL_AT_CAPACITY', 'Too many wait.');
      const run = handle((http) => {
        http.preparing = writer as never;
        return Promise.reject(error);
      });
      return { ...run, written, error };
    };
    const late = failing(true);
    await expect.poll(() => late.cleaned).toEqual(['input']);
    expect(late.written).toEqual([
      expect.stringMatching(/^data: \{"error":\{.*"code":"MODEL_AT_CAPACITY".*\}\n\n$/),
      'failed',
    ]);
    expect(late.seen).toEqual({});
    const early = failing(false);
    await expect.poll(() => early.seen).toEqual({ sends: early.error });
    expect(early.written).toEqual([]);
  });

  it('reports a cleanup that fails, and sends the response all the same', async () => {
    const { seen, logged } = handle(async (http) => {
      http.onEnd(() => Promise.reject(new Error('The storage is away.')));
      return 'ok';
    });
    await expect.poll(() => logged).toHaveLength(1);
    expect(seen).toEqual({ sends: 'ok' });
  });
});
