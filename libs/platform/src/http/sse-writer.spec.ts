import { createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyReply } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { sseData, SseWriter, type SseWriteResult } from './sse-writer.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Serves one request through an `SseWriter` driven by `serve`; resolves to the client's side. */
async function exchange(
  serve: (writer: SseWriter) => Promise<void>,
  options: ConstructorParameters<typeof SseWriter>[1] = { stalledMs: 60_000, keepAliveMs: 60_000 },
): Promise<IncomingMessage> {
  const own = createServer((_request, raw) => {
    const request = { responseRecording: null };
    const parts = { raw, request, hijack: () => undefined, getHeaders: () => ({ 'cf-ray': 'abc' }) };
    const reply = parts as unknown as FastifyReply;
    void serve(new SseWriter(reply, options));
  });
  server = own;
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  const { port } = own.address() as AddressInfo;
  return await new Promise((resolve, reject) => {
    httpRequest({ port, host: '127.0.0.1' }, resolve).once('error', reject).end();
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return text;
}

describe('SseWriter', () => {
  it('sends nothing before the first frame, then the reply headers and the frames', async () => {
    const states: boolean[] = [];
    const response = await exchange(async (writer) => {
      states.push(writer.started);
      await writer.write(sseData('{}'));
      states.push(writer.started);
      writer.end();
    });
    expect(await textOf(response)).toBe('data: {}\n\n');
    expect(response.headers).toMatchObject({ 'cf-ray': 'abc', 'content-type': 'text/event-stream; charset=utf-8' });
    expect(states).toEqual([false, true]);
  });

  it('sends the frame of its format instead of comments', async () => {
    const response = await exchange(
      async (writer) => {
        writer.startKeepAlive();
        await new Promise((resolve) => setTimeout(resolve, 50));
        writer.end();
      },
      { stalledMs: 60_000, keepAliveMs: 5, keepAlive: 'event: ping\n\n' },
    );
    expect(await textOf(response)).toMatch(/^(event: ping\n\n)+$/);
  });

  it('sends comments during silence', async () => {
    const response = await exchange(
      async (writer) => {
        writer.startKeepAlive();
        await new Promise((resolve) => setTimeout(resolve, 50));
        writer.end();
      },
      { stalledMs: 60_000, keepAliveMs: 5 },
    );
    expect(await textOf(response)).toMatch(/^(: keep-alive\n\n)+$/);
  });

  async function writeUntilBlocked(writer: SseWriter): Promise<SseWriteResult> {
    const frame = sseData(`"${'x'.repeat(1_000_000)}"`);
    for (;;) {
      const result = await writer.write(frame);
      if (result !== 'written') return result;
    }
  }

  it('disconnects a client that reads nothing', async () => {
    const result = new Promise<SseWriteResult>((resolve) => {
      void exchange(async (writer) => resolve(await writeUntilBlocked(writer)), {
        stalledMs: 50,
        keepAliveMs: 60_000,
      }).then(
        // Not read on purpose; being disconnected is its error.
        (response) => response.once('error', () => undefined),
      );
    });
    expect(await result).toBe('stalled');
  });

  it('notices a client that disconnects while it waits', async () => {
    let end: (result: SseWriteResult) => void = () => undefined;
    const result = new Promise<SseWriteResult>((resolve) => (end = resolve));
    const response = await exchange(async (writer) => end(await writeUntilBlocked(writer)));
    response.once('error', () => undefined);
    setTimeout(() => response.destroy(), 50);
    expect(await result).toBe('gone');
  });
});
