import type { FastifyRequest } from 'fastify';
import type { RouteSettings } from '#platform/http';

const apiBase = '/api/v1/';

/** True when keys and limits apply to a request: for all API paths except those of removed endpoints. */
export function isApiRoute({ routeOptions, url }: Pick<FastifyRequest, 'routeOptions' | 'url'>): boolean {
  // Uses the matched route, not the raw URL: `/%61pi/v1/…` and `http://host/api/v1/…` match it too. Without a match it
  // uses the path.
  return (routeOptions.url ?? url).startsWith(apiBase) && (routeOptions.config as RouteSettings).retired !== true;
}
