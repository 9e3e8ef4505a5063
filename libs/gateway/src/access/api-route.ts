import type { FastifyRequest } from 'fastify';
import type { RouteSettings } from '#platform/http';

const apiBase = '/api/v1/';

/** Whether a request needs a key and has limits: true for the api's routes except the removed ones. */
export function isApiRoute({ routeOptions, url }: Pick<FastifyRequest, 'routeOptions' | 'url'>): boolean {
  // Uses the matched route, not the raw URL: `/%61pi/v1/…` and `http://host/api/v1/…` match it too. Uses the URL when
  // no route matched.
  return (routeOptions.url ?? url).startsWith(apiBase) && (routeOptions.config as RouteSettings).retired !== true;
}
