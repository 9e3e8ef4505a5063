import type { FastifyInstance } from 'fastify';
import type { RouteSettings } from '#platform/http';

/** Maximum size of a JSON body, in bytes. */
export const bodyLimitBytes = 35 * 1024 * 1024;

/** Maximum size of a JSON body on routes without images, audio or long texts (keys, quotes, ids), in bytes. */
export const smallBodyLimitBytes = 1024 * 1024;

/** Maximum size of a JSON body on routes that need no key, in bytes. */
export const anonymousBodyLimitBytes = 64 * 1024;

/** Sets the body limit of every route registered later. Multipart routes have their own limits. */
export function addBodyLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    const { access, billed, largeBody, multipart, rawJson } = (route.config ?? {}) as RouteSettings;
    if (rawJson !== undefined) route.bodyLimit = rawJson.maxBytes;
    else if (access === 'anonymous' || access === 'public') route.bodyLimit = anonymousBodyLimitBytes;
    else if (billed !== true && largeBody !== true && multipart === undefined) route.bodyLimit = smallBodyLimitBytes;
  });
}
