import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { noteBody, parseJsonBody } from '#platform/http';
import { bodyLimitBytes } from '#gateway';

/** What can be read as UTF-8 without changing a character. */
const readableCharsets = new Set(['utf-8', 'utf8', 'us-ascii']);

function refuseUnreadable({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  // Unpacking here would let a few bytes become gigabytes.
  if (encoding !== 'identity') {
    throw new PlatformError('INVALID_CONTENT_TYPE', 'Compressed bodies are not taken.', 'content-encoding');
  }
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '') ?? [];
  if (!readableCharsets.has(charset.toLowerCase())) {
    throw new PlatformError('INVALID_CONTENT_TYPE', 'The body must be sent in UTF-8.', 'content-type');
  }
}

/** A DELETE needs no body, and many clients name a content type for the one that they do not send. */
function isBodiless({ method, headers }: FastifyRequest): boolean {
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  return method === 'DELETE' && isEmpty;
}

/**
 * Bodies are JSON in UTF-8 and nothing else; every other content type is a 415. What is sent to an address that does
 * not exist is not read at all: that it is broken, too, would be the lesser news. An empty body of a DELETE is none.
 */
export function addJsonParser(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    // Without a type nothing is parsed.
    if (isBodiless(request)) delete request.headers['content-type'];
    done();
  });
  server.addHook('preParsing', async (request) => {
    if (request.is404) throw new PlatformError('NOT_FOUND', 'There is nothing at this address.');
  });
  server.removeAllContentTypeParsers();
  const settings = { parseAs: 'buffer', bodyLimit: bodyLimitBytes } as const;
  for (const contentType of ['application/json', /^application\/[\w.+-]+\+json/]) {
    server.addContentTypeParser<Buffer>(contentType, settings, (request, body, done) => {
      try {
        // Empty, too, where its length was not announced.
        if (request.method === 'DELETE' && body.length === 0) return done(null, undefined);
        refuseUnreadable(request);
        noteBody(request, body);
        done(null, parseJsonBody(body));
      } catch (error) {
        done(PlatformError.from(error));
      }
    });
  }
}
