import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import type { AccountsService } from '#accounts';
import type { RouteAccess, RouteSettings } from '#platform/http';
import { assertAccess } from './access.guard.js';
import { isApiRoute } from './api-route.js';
import { keySuffixLength } from '../access-log/access-log.js';
import type { StoreBudgets } from '../pipeline/store-budgets.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** True when an optional key was sent but could not be looked up. */
    keyLookupFailed: boolean;
  }
}

/** Returns the bearer token of a request, or null without an `authorization` header. */
function bearerOf(request: FastifyRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined) return null;
  const match = /^bearer +(\S+) *$/i.exec(header);
  if (match?.[1] === undefined) {
    throw new PlatformError('AUTHENTICATION_FAILED', 'The authorization header must be: Bearer <key>.');
  }
  return match[1];
}

/** Key lookup and the budget of each request for it. */
export interface AuthDependencies {
  accounts: AccountsService;
  budgets: StoreBudgets;
}

async function callerBehind(
  bearer: string,
  { id, accessRecord }: FastifyRequest,
  { accounts, budgets }: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  try {
    const caller = await budgets.of(id).within(accounts.authenticate(bearer));
    // Only of a key of this installation: an unknown one may be a secret of something else.
    if (accessRecord) accessRecord.keySuffix = bearer.slice(-keySuffixLength);
    return caller;
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    // The database is unavailable, not the key invalid: a retry can succeed.
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check keys right now.', null, { cause: error });
  }
}

/**
 * Returns null for unauthenticated clients on a public route, and there also for a key that cannot be looked up: the
 * route shows the same without it.
 */
async function callerOfRoute(
  request: FastifyRequest,
  access: RouteAccess,
  parts: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  const bearer = bearerOf(request);
  if (bearer !== null) {
    return await callerBehind(bearer, request, parts).catch((error: unknown) => {
      if (access !== 'public' || isUnauthenticated(error)) throw error;
      request.keyLookupFailed = true;
      return null;
    });
  }
  if (access === 'public') return null;
  throw new PlatformError('AUTHENTICATION_FAILED', 'An API key is required: authorization: Bearer <key>.');
}

/** Returns the owner of an optional key, so that failures count for it. An invalid key counts as none. */
async function callerIfKnown(request: FastifyRequest, parts: AuthDependencies): Promise<FastifyRequest['caller']> {
  try {
    return await callerOfRoute(request, 'public', parts);
  } catch {
    return null;
  }
}

/** Returns the error that replaces the authentication failure of a client without a valid key, or null to keep it. */
export type RefuseUnauthenticated = (request: FastifyRequest) => PlatformError | null;

function isUnauthenticated(error: unknown): boolean {
  return error instanceof PlatformError && error.code.startsWith('AUTHENTICATION_FAILED');
}

/**
 * Finds out who is calling. A Fastify hook and not a Nest guard: it runs before the body is read, so that unauthenticated
 * clients cannot make the service parse megabytes. `AccessGuard` checks the same `@Access` again in front of each handler.
 */
export function addAuthentication(
  server: FastifyInstance,
  parts: AuthDependencies,
  refuseUnauthenticated: RefuseUnauthenticated = () => null,
): void {
  server.decorateRequest('caller', null);
  server.decorateRequest('keyLookupFailed', false);
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
    assertAccess(request.caller, access);
  });
}
