import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawConnection } from '#test/raw-http';
import { addSlowClientGuard } from './slow-client.guard.js';

const stalledMs = 200;

let server: FastifyInstance;
let cut: Promise<void>;

beforeEach(async () => {
  server = fastify();
  addSlowClientGuard(server, stalledMs);
  // Exceeds the system's socket buffers.
  server.get('/large', (_request, reply) => {
    cut = new Promise((resolve) => reply.raw.once('close', () => resolve()));
    return 'x'.repeat(64 * 1024 * 1024);
  });
  server.get('/late', async () => {
    await new Promise((resolve) => setTimeout(resolve, 4 * stalledMs));
    return 'here it is';
  });
  server.post('/form', () => 'taken');
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

async function connected(): Promise<RawConnection> {
  return await RawConnection.open((server.server.address() as AddressInfo).port);
}

describe('the slow client guard', () => {
  it('disconnects a client that reads nothing of its response', async () => {
    const connection = await connected();
    connection.pause();
    connection.send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise<void>((resolve) => server.server.once('request', () => resolve()));
    await expect(cut).resolves.toBeUndefined();
    connection.leave();
  });

  it('disconnects a client that sends nothing of its body', async () => {
    const connection = await connected();
    connection.send(
      'POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"',
    );
    expect(await connection.untilClosed()).toBe('');
  });

  it('keeps a client whose bytes arrived while the event loop was blocked', async () => {
    const connection = await connected();
    const arrived = new Promise<void>((resolve) => server.server.once('request', () => resolve()));
    connection.send('POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n');
    await arrived;
    connection.send('{"a": 12}');
    const end = performance.now() + 2 * stalledMs;
    while (performance.now() < end) continue;
    expect(await connection.until(/taken/)).toContain('200 OK');
    connection.leave();
  });

  it('keeps a client that waits for a response', async () => {
    const connection = await connected();
    connection.send('GET /late HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await connection.until(/here it is/)).toContain('200 OK');
    connection.leave();
  });
});
