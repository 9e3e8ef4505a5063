import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteSettings } from '#platform/http';
import { acceptedAgeMs } from './accepted-age.js';
import { type SharedBody, SharedResponses } from './shared-responses.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What another client that may see the same was given; absent unless this request accepts its age. */
    sharedBody?: SharedBody;
  }
}

/**
 * Sends clients that ask for the same one response, on routes with `Access(…, { shared: true })`. It is looked up after
 * the caller is known, and sent once the block after failures has let the request pass (`addSharedSending`). It costs no
 * store a query and counts as no request.
 */
export function addResponseSharing(server: FastifyInstance): void {
  const responses = new SharedResponses();
  const begun = new WeakMap<FastifyRequest, { id: string; acceptedMs: number; sinceMs: number }>();
  server.addHook('onRequest', (request, _reply, done) => {
    const id = viewOf(request);
    if (id !== null) {
      const acceptedMs = acceptedAgeMs(request.headers['cache-control']);
      const known = responses.find(id, acceptedMs);
      if (known === null) begun.set(request, { id, acceptedMs, sinceMs: performance.now() });
      else request.sharedBody = known;
    }
    done();
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const view = begun.get(request);
    if (view !== undefined && reply.statusCode === 200 && typeof payload === 'string') {
      const { id, acceptedMs, sinceMs } = view;
      responses.keep(id, acceptedMs, { text: payload, sinceMs });
    }
    done(null, payload);
  });
}

/** Ends requests that get a shared response. Added after the limits. */
export function addSharedSending(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { sharedBody } = request;
    if (sharedBody === undefined) return done();
    const age = Math.floor((performance.now() - sharedBody.sinceMs) / 1_000);
    void reply.header('content-type', 'application/json; charset=utf-8').header('age', age).send(sharedBody.text);
  });
}

/** Names a response and all who may see it: ADMIN keys of an account see the same, an inference key sees its own. */
function viewOf({ caller, routeOptions, url }: FastifyRequest): string | null {
  if (caller === null || (routeOptions.config as RouteSettings).shared !== true) return null;
  const { accountId, apiKeyId, kind, isOperator } = caller;
  return [isOperator === true, accountId, kind === 'ADMIN' ? '' : apiKeyId, url].join(' ');
}
