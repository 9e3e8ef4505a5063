import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import '#platform/exchange';
import { fingerprintBody } from '#platform/idempotency';
import type { RouteSettings } from '#platform/http';
import { JsonParser } from '#platform/json';
import { bodyLimitBytes } from '#gateway';
import type { BodyReader } from './body-reader.js';

/** Charsets that decode as UTF-8 without changing a character. */
const readableCharsets = new Set(['utf-8', 'utf8', 'us-ascii']);

function refuseUnreadable({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  // Decompressing here would let a few bytes become gigabytes.
  if (encoding !== 'identity') {
    throw new PlatformError('INVALID_CONTENT_TYPE', 'Compressed bodies are not supported.', 'content-encoding');
  }
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '') ?? [];
  if (!readableCharsets.has(charset.toLowerCase())) {
    throw new PlatformError('INVALID_CONTENT_TYPE', 'The body must be sent in UTF-8.', 'content-type');
  }
}

/** True for a DELETE without a body. Many clients send a content type without a body. */
function isBodiless({ method, headers }: FastifyRequest): boolean {
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  return method === 'DELETE' && isEmpty;
}

/**
 * Accepts only JSON in UTF-8; any other content type is a 415. Bodies sent to unknown routes are not read, so that the
 * 404 is reported first. An empty DELETE body counts as none.
 */
export function addJsonParser(server: FastifyInstance, bodies: BodyReader): void {
  server.addHook('onRequest', (request, _reply, done) => {
    // Nothing is parsed without a content type.
    if (isBodiless(request)) delete request.headers['content-type'];
    done();
  });
  server.addHook('preParsing', async (request) => {
    if (request.is404) throw new PlatformError('NOT_FOUND', 'There is nothing at this address.');
  });
  server.removeAllContentTypeParsers();
  const json = new JsonParser();
  server.addHook('onClose', async () => await json.close());
  for (const contentType of ['application/json', /^application\/[\w.+-]+\+json/]) {
    server.addContentTypeParser(contentType, async (request: FastifyRequest, payload: IncomingMessage) => {
      if (request.method !== 'DELETE') refuseUnreadable(request);
      const body = await bodies.read(request, payload, request.routeOptions.bodyLimit ?? bodyLimitBytes);
      // Also empty when no length was announced.
      if (request.method === 'DELETE' && body.length === 0) return undefined;
      refuseUnreadable(request);
      fingerprintBody(request, body);
      request.exchangeSigning?.takeBody(body);
      if ((request.routeOptions.config as RouteSettings).rawJson !== undefined) return body;
      return await json.parse(body, request.caller?.apiKeyId ?? request.ip);
    });
  }
}
