import type { FastifyRequest } from 'fastify';
import type { RouteSettings } from '#platform/http';

const apiBase = '/api/v1/';

/** Whether keys and limits are asked of a request: at the api's addresses, except those that are gone for good. */
export function isApiRoute({ routeOptions, url }: Pick<FastifyRequest, 'routeOptions' | 'url'>): boolean {
  // By the route that was found, not by what the caller wrote: `/%61pi/v1/…` and `http://host/api/v1/…` lead there too.
  // Where there is none, by the address.
  return (routeOptions.url ?? url).startsWith(apiBase) && (routeOptions.config as RouteSettings).retired !== true;
}
