import { createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { noTokens, PlatformError } from '#common';
import type { HttpExchange } from '#platform/http';
import type { ReplyEvent } from '#queue';
import type { StartedJob } from './job-runner.js';
import { type EventPresenter, EventStream } from './stream-events.js';

let server: Server | undefined;

afterEach(() => {
  vi.restoreAllMocks();
  server?.closeAllConnections();
  server?.close();
});

const plain: EventPresenter<ReplyEvent> = { present: () => ['{}'], finish: () => [] };

/** Streams a job to a client; `status` of a response that was refused before it began. */
async function streamed(
  job: StartedJob<ReplyEvent>,
  keepAliveMs: number,
  presenter = plain,
): Promise<{ status: number; text: string }> {
  const own = createServer((_request, raw) => {
    const request = { responseRecording: null };
    const reply = { raw, request, hijack: () => undefined, getHeaders: () => ({}) };
    const stream = new EventStream(job, presenter, { keepAliveMs, stalledMs: 60_000 });
    stream.send({ reply, request } as unknown as HttpExchange).catch((error: unknown) => {
      raw.writeHead(400).end(PlatformError.from(error).message);
    });
  });
  server = own;
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  const { port } = own.address() as AddressInfo;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ port, host: '127.0.0.1' }, resolve).once('error', reject).end();
  });
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return { status: response.statusCode ?? 0, text };
}

/** Resolves when the interval of the comments fired this often: every comment that could be sent by then was. */
async function silence(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('EventStream', () => {
  it('refuses a job that was not accepted with a status, however long that takes', async () => {
    const refused = new PlatformError('INVALID_REQUEST', 'not supported at #/a', 'response_format');
    const follow = async () => {
      await silence(10);
      throw refused;
    };
    const accepted = new Promise<void>(() => undefined);
    expect(await streamed({ accepted, follow }, 5)).toEqual({ status: 400, text: 'not supported at #/a' });
    // Where nothing is to be awaited, a comment has begun the response.
    expect(await streamed({ follow }, 5)).toMatchObject({ status: 200 });
  });

  it('sends comments as soon as the job is accepted', async () => {
    const follow: StartedJob<ReplyEvent>['follow'] = async (onEvent) => {
      await silence(10);
      await onEvent({ type: 'text-delta' });
      return noTokens;
    };
    const { status, text } = await streamed({ accepted: Promise.resolve(), follow }, 5);
    expect(status).toBe(200);
    expect(text).toMatch(/^: keep-alive\n\n[^]*data: \{\}\n\ndata: \[DONE\]\n\n$/);
  });

  it('keeps alive and ends as the format of its presenter says', async () => {
    const follow: StartedJob<ReplyEvent>['follow'] = async (onEvent) => {
      await silence(10);
      await onEvent({ type: 'text-delta' });
      return noTokens;
    };
    const format = { keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n', ending: '' };
    const { text } = await streamed({ follow }, 5, { ...plain, ...format });
    expect(text).toMatch(/^(event: ping\ndata: \{"type":"ping"\}\n\n)+data: \{\}\n\n$/);
  });
});
