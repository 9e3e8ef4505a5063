import type { FastifyInstance } from 'fastify';
import { PlatformError } from '#common';
import { parseJsonBody } from '#platform/http';

/** Bytes of a JSON body at most, as the contract's largest route has it (gaps, 4). */
export const bodyLimitBytes = 35 * 1024 * 1024;

/** Bodies are JSON and nothing else; every other content type is a 415. */
export function addJsonParser(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  const settings = { parseAs: 'buffer', bodyLimit: bodyLimitBytes } as const;
  for (const contentType of ['application/json', /^application\/[\w.+-]+\+json/]) {
    server.addContentTypeParser<Buffer>(contentType, settings, (request, body, done) => {
      try {
        const encoding = request.headers['content-encoding'] ?? 'identity';
        // Unpacking here would let a few bytes become gigabytes.
        if (encoding !== 'identity') {
          throw new PlatformError('INVALID_CONTENT_TYPE', 'Compressed bodies are not taken.', 'content-encoding');
        }
        done(null, parseJsonBody(body));
      } catch (error) {
        done(PlatformError.from(error));
      }
    });
  }
}
