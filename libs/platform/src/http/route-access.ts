import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { RouteConfig } from '@nestjs/platform-fastify';

/** Who may call a route: anybody, any valid key, or keys of kind `ADMIN`. */
export type RouteAccess = 'public' | 'inference' | 'admin';

/** Who is calling, as the api's guard found out; null on a public route without a key. */
export interface RequestCaller {
  accountId: string;
  apiKeyId: string;
  kind: 'INFERENCE' | 'ADMIN';
  /** Which rate limits the account has. */
  tier: 'default' | 'partner';
  /** Which models the key may call. */
  modelPrivacy: 'ALL' | 'PRIVATE_TEXT' | 'PRIVATE_ONLY';
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: RequestCaller | null;
  }
}

/** The caller of a route that is not public. */
export function callerOf(request: FastifyRequest): RequestCaller {
  if (request.caller === null) throw new PlatformError('AUTHENTICATION_FAILED', 'An API key is required.');
  return request.caller;
}

/** What a route says of itself; read by the hooks of the api before the body is. */
export interface RouteSettings {
  access?: RouteAccess;
}

/**
 * Declares who may call a route; without it any valid key may. A sent key that is wrong is refused on public
 * routes too.
 */
export function Access(access: RouteAccess): MethodDecorator {
  return RouteConfig({ access } satisfies RouteSettings);
}
