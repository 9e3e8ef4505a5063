import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import type { AccountsService } from '#accounts';
import type { RouteAccess, RouteSettings } from '#platform/http';
import { isApiRoute } from './api-route.js';
import type { StoreBudgets } from '../pipeline/store-budgets.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The request has an optional key that could not be looked up. */
    keyUnchecked: boolean;
  }
}

/** The bearer token of a request; null without an `authorization` header. */
function bearerOf(request: FastifyRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined) return null;
  const match = /^bearer +(\S+) *$/i.exec(header);
  if (match?.[1] === undefined) {
    throw new PlatformError('AUTHENTICATION_FAILED', 'The authorization header must be: Bearer <key>.');
  }
  return match[1];
}

/** Looks up keys and knows how long a request may wait for the lookup. */
export interface AuthDependencies {
  accounts: AccountsService;
  budgets: StoreBudgets;
}

async function callerBehind(
  bearer: string,
  { id }: FastifyRequest,
  { accounts, budgets }: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  try {
    return await budgets.of(id).within(accounts.authenticate(bearer));
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    // The database is unavailable, so a retry can succeed.
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check keys right now.', null, { cause: error });
  }
}

/** Null for unauthenticated clients on a public route. */
async function callerOfRoute(
  request: FastifyRequest,
  access: RouteAccess,
  parts: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  const bearer = bearerOf(request);
  if (bearer !== null) return await callerBehind(bearer, request, parts);
  if (access === 'public') return null;
  throw new PlatformError('AUTHENTICATION_FAILED', 'An API key is required: authorization: Bearer <key>.');
}

/** Identifies the key on a public route, so that failures count for it. An invalid key counts as none. */
async function callerIfKnown(request: FastifyRequest, parts: AuthDependencies): Promise<FastifyRequest['caller']> {
  try {
    return await callerOfRoute(request, 'public', parts);
  } catch (error) {
    request.keyUnchecked = !isUnauthenticated(error);
    return null;
  }
}

/** The error for a request without a valid key that replaces the default; null keeps the default. */
export type RefuseUnauthenticated = (request: FastifyRequest) => PlatformError | null;

function isUnauthenticated(error: unknown): boolean {
  return error instanceof PlatformError && error.code.startsWith('AUTHENTICATION_FAILED');
}

/**
 * Authenticates requests before the body is read, so that unauthenticated clients cannot make the service parse
 * megabytes. Therefore it is a hook and not a Nest guard; a route declares what it needs with `@Access`.
 */
export function addAuthGuard(
  server: FastifyInstance,
  parts: AuthDependencies,
  refuseUnauthenticated: RefuseUnauthenticated = () => null,
): void {
  server.decorateRequest('caller', null);
  server.decorateRequest('keyUnchecked', false);
  server.addHook('onRequest', async (request) => {
    if (!isApiRoute(request)) return;
    const { access = 'inference' } = request.routeOptions.config as RouteSettings;
    if (request.is404 || access === 'anonymous') {
      request.caller = await callerIfKnown(request, parts);
      return;
    }
    try {
      request.caller = await callerOfRoute(request, access, parts);
    } catch (error) {
      throw isUnauthenticated(error) ? (refuseUnauthenticated(request) ?? error) : error;
    }
    if (access === 'admin' && request.caller?.kind !== 'ADMIN') {
      throw new PlatformError('UNAUTHORIZED', 'This needs an ADMIN key.');
    }
  });
}
