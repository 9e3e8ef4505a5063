import { gunzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addCompression } from './compression.js';

const text = 'a,b\r\n'.repeat(1_000);
let server: FastifyInstance;

beforeAll(async () => {
  server = fastify();
  await addCompression(server);
  server.get('/*', (request, reply) => reply.type((request.query as { type: string }).type).send(text));
});

afterAll(() => server.close());

async function ask(type: string, headers: Record<string, string> = { 'accept-encoding': 'gzip' }) {
  return server.inject({ url: '/', query: { type }, headers });
}

describe('compression', () => {
  it.each(['text/csv; charset=utf-8', 'application/json; charset=utf-8'])('compresses %s', async (type) => {
    const { headers, rawPayload } = await ask(type);
    expect(headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(rawPayload).toString()).toBe(text);
  });

  it('leaves other types, and clients that ask for nothing, alone', async () => {
    for (const type of ['text/event-stream', 'image/png', 'text/plain']) {
      expect((await ask(type)).headers['content-encoding']).toBeUndefined();
    }
    expect((await ask('text/csv', {})).headers['content-encoding']).toBeUndefined();
  });
});
