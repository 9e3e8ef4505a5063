import type { FastifyInstance } from 'fastify';
import type { RouteSettings } from '#platform/http';

/** Bytes of a JSON body at most, as the contract's largest route has it (gaps, 4). */
export const bodyLimitBytes = 35 * 1024 * 1024;

/** Bytes of a JSON body at most where nobody sends pictures, sound or long texts: keys, quotes, ids. */
export const smallBodyLimitBytes = 1024 * 1024;

/** Holds every route that is registered from now on to its limit; forms have limits of their own. */
export function addBodyLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    const { billed, largeBody, multipart } = (route.config ?? {}) as RouteSettings;
    if (billed !== true && largeBody !== true && multipart === undefined) route.bodyLimit = smallBodyLimitBytes;
  });
}
