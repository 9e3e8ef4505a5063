import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RecentBalances } from '#billing';
import { BudgetSpent } from '#common';
import { callerOf, type RequestCaller, type RouteSettings } from '#platform/http';
import { limitClassOf, type LimitDecision, type OpenRequests, type RateLimiter } from '#rate-limit';
import { isApiRoute } from '../request/api-route.js';
import { hasKey, type RefuseUnauthenticated } from '../access/authentication.js';
import { callerAddress } from '../request/caller-address.js';
import { balanceHeaders } from '../request/request-headers.js';
import { hasSignIn } from '../wallets/wallet-sign-ins.js';
import type { StoreBudgets } from '../request/store-budgets.js';
import type { AdmittedUse, ModelDemand } from './model-limit.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Decision of the rate limiter; null before it was asked. */
    limitDecision: LimitDecision | null;
    /** True when it counts as one of the open requests of its caller. */
    countsAsOpen: boolean;
  }
}

export interface RateLimitDependencies {
  limiter: RateLimiter;
  budgets: StoreBudgets;
  balances: RecentBalances;
  open: OpenRequests;
  /** `caller`: failures of the service itself do not count towards the block. */
  abuseCount: 'caller' | 'all';
}

/** Returns the error for an unauthenticated client whose address is blocked. */
export function refuseUnauthenticated(limiter: RateLimiter): RefuseUnauthenticated {
  return ({ ip }) => limiter.blockedAddress(callerAddress(ip));
}

function apply(request: FastifyRequest, reply: FastifyReply, decision: LimitDecision): void {
  request.limitDecision = decision;
  void reply.headers(decision.headers);
  if (decision.refusal !== null) throw decision.refusal;
}

/**
 * Applies the limits of a request that runs a model and sets their headers. Rejects with `CONCURRENCY_LIMIT_EXCEEDED` or
 * `RATE_LIMIT_EXCEEDED`, or with `SERVICE_UNAVAILABLE` if they cannot be checked.
 */
export async function applyModelLimit(
  { limiter, budgets, open }: Pick<RateLimitDependencies, 'limiter' | 'budgets' | 'open'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { model, action = 'run', tokens, setsHeaders = true }: ModelDemand,
): Promise<AdmittedUse> {
  if (action === 'run' && !request.countsAsOpen) await enterOpen({ open, budgets }, request, reply);
  const limitClass = action === 'retrieve' ? 'retrieve' : limitClassOf(model);
  const admission = limiter.admitModel(callerOf(request), { modelId: model.id, limitClass, tokens });
  // A decision that arrives after the budget has no request left, so its reservation is released.
  const decision = await budgets.of(request.id).within(admission, (late) => late.reservation?.release());
  const { reservation } = decision;
  // The request releases its tokens when its response is sent or its client disconnects. A queued job keeps its own
  // reservation.
  if (reservation !== null) {
    if (reply.raw.destroyed) reservation.release();
    else reply.raw.once('close', () => reservation.release());
  }
  if (setsHeaders || decision.refusal !== null) apply(request, reply, decision);
  return { tokens: decision.tokens, tokenReservation: reservation };
}

/** Counts a request among the open ones of its caller until its response has ended. Before its limits: if refused, it counts nowhere. */
async function enterOpen(
  { open, budgets }: Pick<RateLimitDependencies, 'open' | 'budgets'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const entered = open.enter(callerOf(request), request.id);
  const decision = await budgets.of(request.id).within(entered, (late) => late.leave());
  if (decision.refusal !== null) return apply(request, reply, decision);
  request.countsAsOpen = true;
  void reply.headers(decision.headers);
  if (reply.raw.destroyed) decision.leave();
  else reply.raw.once('close', () => decision.leave());
}

/** Applies the limit of requests that run no model. Blocked callers are rejected before the store is asked. */
async function applyPlainLimit(
  limiter: RateLimiter,
  caller: RequestCaller,
  onlyBlock: boolean,
): Promise<LimitDecision | null> {
  const blocked = await limiter.blocked(caller);
  if (blocked !== null || onlyBlock) return blocked;
  return await plainDecision(limiter, caller);
}

/** Applies the limit of requests that run no model to a replayed response. Rejects with `RATE_LIMIT_EXCEEDED`. */
export async function limitReplay(
  { limiter, budgets }: Pick<RateLimitDependencies, 'limiter' | 'budgets'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (request.limitDecision === null)
    await applyInTime(budgets, { request, reply }, plainDecision(limiter, callerOf(request)));
}

/** Applies a decision that arrives within the request's budget, and none otherwise. */
async function applyInTime(
  budgets: StoreBudgets,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  pending: Promise<LimitDecision | null>,
): Promise<void> {
  const decision = await budgets.of(request.id).within(pending).catch(unlessSpent);
  if (decision !== null) apply(request, reply, decision);
}

/** Returns null if the store is unavailable: requests that run no model continue without it. */
async function plainDecision(limiter: RateLimiter, caller: RequestCaller): Promise<LimitDecision | null> {
  return await limiter.admitPlain(caller).catch(() => null);
}

/** Requests that run no model also continue when the store is slow. */
function unlessSpent(error: unknown): null {
  if (error instanceof BudgetSpent) return null;
  throw error;
}

/**
 * True for failures that count towards the block: not those whose key could not be checked, not the offer of payment
 * that clients with a wallet ask for before each request, not those of pages whose session has ended, and those of the service itself only where the operator counts
 * all.
 */
function countsAsFailure(
  request: FastifyRequest,
  { statusCode }: FastifyReply,
  abuseCount: RateLimitDependencies['abuseCount'],
): boolean {
  const { caller, keyLookupFailed, sessionEnded } = request;
  if (abuseCount === 'caller' && statusCode >= 500) return false;
  if (caller === null && (statusCode === 402 || sessionEnded)) return false;
  const hasCredentials = hasKey(request) || hasSignIn(request);
  const isUnknown = caller === null && hasCredentials && statusCode === 503;
  return statusCode >= 400 && !isUnknown && !keyLookupFailed;
}

/**
 * What every request has to pass, and every answer to a key says: limits that depend on no model, the block after
 * failures, and the headers of limits and balances. Fastify hooks and not a guard or an interceptor: limits hold before the
 * body is read, and errors and unknown routes, which no interceptor sees, carry the same headers.
 */
export function addRateLimits(
  server: FastifyInstance,
  { limiter, balances, budgets, abuseCount }: Omit<RateLimitDependencies, 'open'>,
): void {
  server.decorateRequest('limitDecision', null);
  server.decorateRequest('countsAsOpen', false);
  const refuse = refuseUnauthenticated(limiter);

  server.addHook('onRequest', async (request, reply) => {
    const { caller, keyLookupFailed } = request;
    if (!isApiRoute(request)) return;
    if (caller === null) {
      const refusal = keyLookupFailed ? null : refuse(request);
      if (refusal !== null) throw refusal;
      return;
    }
    const { limitedByModel } = request.routeOptions.config as RouteSettings;
    // What another request was given costs nothing: only the block holds for it.
    const limited = applyPlainLimit(limiter, caller, limitedByModel === true || request.sharedBody !== undefined);
    await applyInTime(budgets, { request, reply }, limited);
  });

  const complete = async (request: FastifyRequest, reply: FastifyReply, failed: boolean): Promise<void> => {
    const { caller } = request;
    const facts = Promise.all([
      failed ? limiter.failed(caller, callerAddress(request.ip)) : undefined,
      // A request that failed before it reached its model counts as one that runs none.
      caller !== null && request.limitDecision === null ? plainDecision(limiter, caller) : null,
      caller !== null && !reply.hasHeader('x-service-balance-usd') ? balances.of(caller.accountId) : null,
    ]);
    // The response is sent without these headers if the store does not respond.
    const [, decision, balance] = await budgets
      .of(request.id)
      .within(facts)
      .catch(() => [undefined, null, null] as const);
    if (decision !== null) void reply.headers(decision.headers);
    if (balance !== null) void reply.headers(balanceHeaders({ balanceBefore: balance }, caller));
  };

  server.addHook('onSend', async (request, reply, payload) => {
    const failed = countsAsFailure(request, reply, abuseCount);
    const hasHeaders = request.limitDecision !== null && reply.hasHeader('x-service-balance-usd');
    const isComplete = hasHeaders || (request.sharedBody !== undefined && !failed);
    if (isApiRoute(request) && (failed || (request.caller !== null && !isComplete))) {
      await complete(request, reply, failed);
    }
    return payload;
  });
}
