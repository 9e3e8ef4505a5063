import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';

const prefix = 'x-service-tee-';

/** What follows the prefix in the request headers of encrypted chats. */
const names = ['client-pub-key', 'model-pub-key', 'signing-algo'] as const;

type Headers = FastifyRequest['headers'];

/**
 * Reads the headers of encrypted chats under another prefix too, as clients of other services send them. Throws
 * `INVALID_REQUEST` where both are there and differ: which of two keys a text is sealed for must not be a guess.
 */
export function applyHeaderAliases(headers: Headers, otherPrefix: string): void {
  for (const name of names) {
    const alias = `${otherPrefix.toLowerCase()}${name}`;
    const value = headers[alias];
    const known = headers[`${prefix}${name}`];
    if (value === undefined || alias === `${prefix}${name}`) continue;
    if (known !== undefined && known !== value) {
      throw new PlatformError('INVALID_REQUEST', `${alias} and ${prefix}${name} differ.`, alias);
    }
    headers[`${prefix}${name}`] = value;
  }
}

/** Before anything reads the headers. `otherPrefix`: undefined where clients use the documented names only. */
export function addHeaderAliases(server: FastifyInstance, otherPrefix: string | undefined): void {
  if (otherPrefix === undefined) return;
  server.addHook('onRequest', (request, _reply, done) => {
    try {
      applyHeaderAliases(request.headers, otherPrefix);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}
