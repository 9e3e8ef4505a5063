import fastify from 'fastify';
import { expect, it } from 'vitest';
import type { RouteSettings } from '#platform/http';
import { addBodyLimits, anonymousBodyLimitBytes, bodyLimitBytes, smallBodyLimitBytes } from './body-limits.js';

it('allows large bodies on billed, multipart and large-body routes only', async () => {
  const server = fastify({ bodyLimit: bodyLimitBytes });
  addBodyLimits(server);
  const limits: Record<string, number | undefined> = {};
  server.addHook('onRoute', ({ url, bodyLimit }) => {
    limits[url] = bodyLimit;
  });
  const settings: Record<string, RouteSettings> = {
    '/billed': { billed: true },
    '/form': { multipart: { maxFiles: 1, maxFileBytes: 1 } },
    '/large': { largeBody: true },
    '/keys': {},
    '/anonymous': { access: 'anonymous' },
    '/public': { access: 'public' },
  };
  for (const [url, config] of Object.entries(settings))
    server.post(url, { config: { ...config } }, (request) => request.body);
  expect(limits).toEqual({
    '/billed': undefined,
    '/form': undefined,
    '/large': undefined,
    '/keys': smallBodyLimitBytes,
    '/anonymous': anonymousBodyLimitBytes,
    '/public': anonymousBodyLimitBytes,
  });
  const payload = JSON.stringify('x'.repeat(smallBodyLimitBytes));
  const headers = { 'content-type': 'application/json' };
  const status = async (url: string) => (await server.inject({ method: 'POST', url, payload, headers })).statusCode;
  expect(await status('/keys')).toBe(413);
  expect(await status('/billed')).toBe(200);
});
