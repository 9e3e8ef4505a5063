import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import {
  type AccountsService,
  type ConsoleSessionsService,
  csrfHeader,
  sessionTokensIn,
  signInHeader,
} from '#accounts';
import type { RouteSettings } from '#platform/http';
import { assertAccess } from './access.guard.js';
import { isApiRoute } from '../request/api-route.js';
import { keySuffixLength } from '../access-log/access-log.js';
import type { StoreBudgets } from '../request/store-budgets.js';
import { signInOf, walletsAreOff, type WalletSignIns } from '../wallets/wallet-sign-ins.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** True when an optional key was sent but could not be looked up. */
    keyLookupFailed: boolean;
    /** True when a page of the console sent it after its session had ended. */
    sessionEnded: boolean;
  }
}

/** Header of a key as Anthropic's clients send it. */
const keyHeader = 'x-api-key';

/** Returns true for a request with something in one of the headers for keys. */
export function hasKey({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.authorization !== undefined || headers[keyHeader] !== undefined;
}

/** Returns the key of a request, or null without one. `authorization` takes precedence over `x-api-key`. */
function keyOf(request: FastifyRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined) {
    const key = request.headers[keyHeader];
    return typeof key === 'string' && key !== '' ? key : null;
  }
  const match = /^bearer +(\S+) *$/i.exec(header);
  if (match?.[1] === undefined) {
    throw new PlatformError('AUTHENTICATION_FAILED', 'The authorization header must be: Bearer <key>.');
  }
  return match[1];
}

/** Returns the token of the console session that sent a request, or null when none did: a cookie alone proves nothing. */
function sessionTokenOf({ headers }: FastifyRequest, sessions: AuthDependencies['sessions']): string | null {
  const csrf = headers[csrfHeader];
  if (typeof csrf !== 'string') return null;
  return sessionTokensIn(headers.cookie).find((token) => sessions.isCsrfTextOf(token, csrf)) ?? null;
}

/** Lookup of keys, sessions and wallets, and the budget of each request for it. */
export interface AuthDependencies {
  accounts: AccountsService;
  sessions: Pick<ConsoleSessionsService, 'isCsrfTextOf' | 'authenticate'>;
  signIns: Pick<WalletSignIns, 'areOn' | 'authenticate'>;
  budgets: StoreBudgets;
}

async function callerBehind(
  bearer: string,
  { id, accessRecord }: FastifyRequest,
  { accounts, budgets }: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  try {
    const caller = await budgets.of(id).within(accounts.authenticate(bearer));
    // Recorded only for a key of this installation: an unknown one may be a secret of something else.
    if (accessRecord) accessRecord.keySuffix = bearer.slice(-keySuffixLength);
    return caller;
  } catch (error) {
    throw notChecked(error, 'keys');
  }
}

async function sessionBehind(
  token: string,
  request: FastifyRequest,
  { sessions, budgets }: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  try {
    return await budgets.of(request.id).within(sessions.authenticate(token));
  } catch (error) {
    request.sessionEnded = isUnauthenticated(error);
    throw notChecked(error, 'sessions');
  }
}

/** The database is unavailable and the credentials may be valid, so a retry can succeed. */
function notChecked(cause: unknown, what: string): PlatformError {
  if (cause instanceof PlatformError) return cause;
  return new PlatformError('SERVICE_UNAVAILABLE', `The service cannot check ${what} right now.`, null, { cause });
}

async function walletBehind(
  signIn: string,
  request: FastifyRequest,
  { signIns, budgets }: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  try {
    return await budgets.of(request.id).within(signIns.authenticate(signIn, request));
  } catch (error) {
    throw notChecked(error, 'sign-ins');
  }
}

/** Returns the caller of a route that accepts only wallets: a key says nothing about a wallet. */
async function callerOfWalletRoute(
  request: FastifyRequest,
  dependencies: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  if (!dependencies.signIns.areOn)
    throw new PlatformError('SERVICE_UNAVAILABLE', walletsAreOff, null, { retry: 'never' });
  const signIn = signInOf(request);
  if (signIn !== null) return await walletBehind(signIn, request, dependencies);
  throw new PlatformError('X402_INVALID_SIGN_IN', `This needs the sign-in of a wallet: ${signInHeader}.`, signInHeader);
}

/**
 * Returns null for unauthenticated clients on a public route, and for a key that cannot be looked up there, because the
 * route shows the same without it. There an unknown `x-api-key` counts as none: gateways add one of their own.
 */
async function callerOfRoute(
  request: FastifyRequest,
  { access = 'inference', wallets }: RouteSettings,
  dependencies: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  if (access === 'wallet') return await callerOfWalletRoute(request, dependencies);
  const bearer = keyOf(request);
  if (bearer !== null) {
    return await callerBehind(bearer, request, dependencies).catch((error: unknown) => {
      if (access !== 'public') throw error;
      const isUnknown = isUnauthenticated(error);
      if (isUnknown && request.headers.authorization !== undefined) throw error;
      request.keyLookupFailed = !isUnknown;
      return null;
    });
  }
  const token = sessionTokenOf(request, dependencies.sessions);
  if (token !== null) return await sessionBehind(token, request, dependencies);
  if (access === 'public') return null;
  // A request with both counts as one of the key.
  const signIn = wallets === true ? signInOf(request) : null;
  if (signIn !== null) return await walletBehind(signIn, request, dependencies);
  if (wallets === true && dependencies.signIns.areOn) {
    throw new PlatformError('PAYMENT_REQUIRED', `Send an API key, or the sign-in of a wallet: ${signInHeader}.`);
  }
  throw new PlatformError('AUTHENTICATION_FAILED', 'An API key is required: authorization: Bearer <key>.');
}

/** Returns the owner of an optional key, so that failures count for it. An invalid key counts as none. */
async function callerIfKnown(
  request: FastifyRequest,
  dependencies: AuthDependencies,
): Promise<FastifyRequest['caller']> {
  try {
    return await callerOfRoute(request, { access: 'public' }, dependencies);
  } catch {
    return null;
  }
}

/** Returns the error that replaces the authentication failure of a client without a valid key, or null to keep it. */
export type RefuseUnauthenticated = (request: FastifyRequest) => PlatformError | null;

function isUnauthenticated(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  return error.code.startsWith('AUTHENTICATION_FAILED') || error.code === 'X402_INVALID_SIGN_IN';
}

/**
 * Finds out who is calling. A Fastify hook and not a Nest guard: it runs before the body is read, so that unauthenticated
 * clients cannot make the service parse megabytes. `AccessGuard` checks the same `@Access` again in front of each handler.
 */
export function addAuthentication(
  server: FastifyInstance,
  dependencies: AuthDependencies,
  refuseUnauthenticated: RefuseUnauthenticated = () => null,
): void {
  server.decorateRequest('caller', null);
  server.decorateRequest('keyLookupFailed', false);
  server.decorateRequest('sessionEnded', false);
  server.addHook('onRequest', async (request) => {
    if (!isApiRoute(request)) return;
    const settings = request.routeOptions.config as RouteSettings;
    const { access = 'inference' } = settings;
    if (request.is404 || access === 'anonymous') {
      request.caller = await callerIfKnown(request, dependencies);
      return;
    }
    try {
      request.caller = await callerOfRoute(request, settings, dependencies);
    } catch (error) {
      throw isUnauthenticated(error) ? (refuseUnauthenticated(request) ?? error) : error;
    }
    assertAccess(request.caller, access);
  });
}
