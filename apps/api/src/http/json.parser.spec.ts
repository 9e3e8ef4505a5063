import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { BodyBudget } from './body-budget.js';
import { BodyReader } from './body-reader.js';
import { addJsonParser } from './json.parser.js';

const unlimited = { processBytes: Infinity, addressBytes: Infinity, keyBytes: Infinity };
const bodies = new BodyReader(new BodyBudget(unlimited));
let server: FastifyInstance;

beforeAll(() => {
  server = fastify();
  addJsonParser(server, bodies);
  server.setErrorHandler((error, _request, reply) => {
    const { code, param } = PlatformError.from(error);
    return reply.status(400).send({ code, param });
  });
  server.post('/echo', ({ body }) => ({ body }));
  server.delete('/echo', ({ body }) => ({ body: body ?? 'none' }));
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

  it.each(['utf-16', 'UTF-16LE', '"iso-8859-1"'])('rejects a body in %s instead of misreading it', async (charset) => {
    const answer = await post('/echo', `application/json; charset=${charset}`, '{"a":1}');
    expect(answer).toEqual({ code: 'INVALID_CONTENT_TYPE', param: 'content-type' });
  });

  it.each([{}, { 'content-length': '0' }, { 'transfer-encoding': 'chunked' }])(
    'takes the empty body of a DELETE for none, whatever its content type: %j',
    async (more) => {
      const types = ['application/json', ...('transfer-encoding' in more ? [] : ['application/x-www-form-urlencoded'])];
      for (const contentType of types) {
        const headers = { 'content-type': contentType, ...more };
        const response = await server.inject({ method: 'DELETE', url: '/echo', headers });
        expect([response.statusCode, response.json<object>()]).toEqual([200, { body: 'none' }]);
      }
    },
  );

  it('reads a body of a DELETE that is there, and refuses an empty one of a POST', async () => {
    const headers = { 'content-type': 'application/json' };
    const response = await server.inject({ method: 'DELETE', url: '/echo', headers, payload: '{"a":1}' });
    expect(response.json<object>()).toEqual({ body: { a: 1 } });
    expect(await post('/echo', 'application/json', '')).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('rejects a malformed body, but reports an unknown route first', async () => {
    expect(await post('/echo', 'application/json', '{')).toMatchObject({ code: 'INVALID_REQUEST' });
    for (const contentType of ['application/json', 'application/json; charset=utf-16', 'text/plain']) {
      expect(await post('/nowhere', contentType, '{')).toMatchObject({ code: 'NOT_FOUND' });
    }
  });
});
