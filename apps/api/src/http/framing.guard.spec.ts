import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RawConnection } from '#test/raw-http';
import { addFramingGuard } from './framing.guard.js';

let server: FastifyInstance;
let handled: string[];

beforeAll(async () => {
  server = fastify({ http: { requireHostHeader: false } });
  addFramingGuard(server);
  server.route({
    method: ['GET', 'POST'],
    url: '/*',
    handler: (request) => {
      handled.push(request.url);
      return 'answer';
    },
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

beforeEach(() => {
  handled = [];
});

afterAll(async () => {
  server.server.closeAllConnections();
  await server.close();
});

async function connected(): Promise<RawConnection> {
  return await RawConnection.open((server.server.address() as AddressInfo).port);
}

const body = '2\r\nhi\r\n0\r\n\r\n';
const next = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';

describe('the framing guard', () => {
  it.each([
    [
      'another transfer-encoding before chunked',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${body}`,
    ],
    ['a transfer-encoding in HTTP/1.0', `POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['no version', 'GET /\r\n\r\n'],
    ['another version', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n'],
  ])('rejects %s, closes the connection and runs no pipelined request behind it', async (_name, text) => {
    const connection = await connected();
    connection.send(text + next);
    const answer = await connection.untilClosed();
    expect(answer).toMatch(/^HTTP\/1\.1 \d\d\d /);
    expect(answer).not.toContain('answer');
    expect(handled).toEqual([]);
  });

  it.each([
    [
      'chunks',
      `POST /chunks HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: Chunked\r\n\r\n${body}`,
      '/chunks',
    ],
    ['HTTP/1.0', 'GET /old HTTP/1.0\r\n\r\n', '/old'],
  ])('lets %s pass', async (_name, text, url) => {
    const connection = await connected();
    connection.send(text);
    expect(await connection.until(/answer/)).toContain('200 OK');
    connection.leave();
    expect(handled).toEqual([url]);
  });
});
