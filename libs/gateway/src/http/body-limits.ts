import type { FastifyInstance } from 'fastify';
import type { RouteSettings } from '#platform/http';

/** Maximum bytes of a JSON body on the routes that take large ones. */
export const bodyLimitBytes = 35 * 1024 * 1024;

/** Maximum bytes of a JSON body without images, audio or long texts: keys, quotes, ids. */
export const smallBodyLimitBytes = 1024 * 1024;

/** Applies the limit to every route that is registered from now on; forms have their own limits. */
export function addBodyLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    const { billed, largeBody, multipart } = (route.config ?? {}) as RouteSettings;
    if (billed !== true && largeBody !== true && multipart === undefined) route.bodyLimit = smallBodyLimitBytes;
  });
}
