import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { addJsonParser } from './json.parser.js';

let server: FastifyInstance;

beforeAll(() => {
  server = fastify();
  addJsonParser(server);
  server.setErrorHandler((error, _request, reply) => {
    const { code, param } = PlatformError.from(error);
    return reply.status(400).send({ code, param });
  });
  server.post('/echo', ({ body }) => ({ body }));
});

afterAll(async () => {
  await server.close();
});

async function post(url: string, contentType: string, payload: string) {
  const response = await server.inject({ method: 'POST', url, headers: { 'content-type': contentType }, payload });
  return response.json<object>();
}

describe('the JSON parser', () => {
  it.each([
    'application/json',
    'application/json;charset=utf-8',
    'application/json; charset="UTF8"',
    'application/vnd.api+json; charset=us-ascii',
  ])('reads a body sent as %s', async (contentType) => {
    expect(await post('/echo', contentType, '{"a":1}')).toEqual({ body: { a: 1 } });
  });

  it.each(['utf-16', 'UTF-16LE', '"iso-8859-1"'])(
    'refuses a body in %s instead of reading it wrongly',
    async (charset) => {
      const answer = await post('/echo', `application/json; charset=${charset}`, '{"a":1}');
      expect(answer).toEqual({ code: 'INVALID_CONTENT_TYPE', param: 'content-type' });
    },
  );

  it('refuses a broken body, but where there is nothing at the address says that first', async () => {
    expect(await post('/echo', 'application/json', '{')).toMatchObject({ code: 'INVALID_REQUEST' });
    for (const contentType of ['application/json', 'application/json; charset=utf-16', 'text/plain']) {
      expect(await post('/nowhere', contentType, '{')).toMatchObject({ code: 'NOT_FOUND' });
    }
  });
});
