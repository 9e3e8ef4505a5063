import type { FastifyRequest } from 'fastify';
import type { RouteSettings } from '#platform/http';

/** The API of clients, and that of administrators. */
const apiBases = ['/api/v1/', '/api/admin/v1/'];

/**
 * True when keys and limits apply to a request: for all API paths except those of removed endpoints, and for routes
 * outside of the API that ask for it.
 */
export function isApiRoute({ routeOptions, url }: Pick<FastifyRequest, 'routeOptions' | 'url'>): boolean {
  // Uses the matched route, not the raw URL: `/%61pi/v1/…` and `http://host/api/v1/…` match it too. Without a match it
  // uses the path.
  const path = routeOptions.url ?? url;
  const { retired, guarded } = routeOptions.config as RouteSettings;
  return guarded === true || (retired !== true && apiBases.some((base) => path.startsWith(base)));
}
