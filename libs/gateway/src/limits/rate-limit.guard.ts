import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RecentBalances } from '#billing';
import { BudgetSpent } from '#common';
import { callerOf, type RequestCaller, type RouteSettings } from '#platform/http';
import { limitClassOf, type LimitDecision, type RateLimiter } from '#rate-limit';
import { isApiRoute } from '../access/api-route.js';
import type { RefuseUnauthenticated } from '../access/auth.guard.js';
import { callerAddress } from '../access/caller-address.js';
import { balanceHeaders } from '../pipeline/request-headers.js';
import type { StoreBudgets } from '../pipeline/store-budgets.js';
import type { AdmittedUse, ModelDemand } from './model-limit.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision of the limits; null before the check. */
    limitDecision: LimitDecision | null;
  }
}

export interface RateLimitDependencies {
  limiter: RateLimiter;
  budgets: StoreBudgets;
  balances: RecentBalances;
}

/** The error for an unauthenticated client whose address is blocked. */
export function refuseUnauthenticated(limiter: RateLimiter): RefuseUnauthenticated {
  return ({ ip }) => limiter.blockedAddress(callerAddress(ip));
}

function apply(request: FastifyRequest, reply: FastifyReply, decision: LimitDecision): void {
  request.limitDecision = decision;
  void reply.headers(decision.headers);
  if (decision.refusal !== null) throw decision.refusal;
}

/**
 * Applies the model's limits to a request and sets their headers. Rejects with `RATE_LIMIT_EXCEEDED`, or
 * `SERVICE_UNAVAILABLE` if they cannot be checked.
 */
export async function applyModelLimit(
  { limiter, budgets }: Pick<RateLimitDependencies, 'limiter' | 'budgets'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { model, action = 'run', tokens }: ModelDemand,
): Promise<AdmittedUse> {
  const limitClass = action === 'retrieve' ? 'retrieve' : limitClassOf(model);
  const asked = limiter.admitModel(callerOf(request), { modelId: model.id, limitClass, tokens });
  // The request has already ended, so a late reservation is released.
  const decision = await budgets.of(request.id).within(asked, (late) => late.reservation?.release());
  const { reservation } = decision;
  // Releases the request's tokens when its response was sent or its client disconnected, unless a job uses them.
  if (reservation !== null) {
    if (reply.raw.destroyed) reservation.release();
    else reply.raw.once('close', () => reservation.release());
  }
  apply(request, reply, decision);
  return { tokens: decision.tokens, tokenReservation: reservation };
}

/** Applies the limit for requests that run no model; a blocked key is rejected without asking the store. */
async function applyPlainLimit(
  limiter: RateLimiter,
  caller: RequestCaller,
  { limitedByModel }: RouteSettings,
): Promise<LimitDecision | null> {
  const blocked = await limiter.blocked(caller);
  if (blocked !== null || limitedByModel === true) return blocked;
  return await plainDecision(limiter, caller);
}

/** Applies the limit for requests that run no model to a stored response. Rejects with `RATE_LIMIT_EXCEEDED`. */
export async function limitReplay(
  { limiter, budgets }: Pick<RateLimitDependencies, 'limiter' | 'budgets'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (request.limitDecision === null)
    await applyInTime(budgets, { request, reply }, plainDecision(limiter, callerOf(request)));
}

/** Applies a decision that arrives within the request's budget; a later one is ignored. */
async function applyInTime(
  budgets: StoreBudgets,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  asked: Promise<LimitDecision | null>,
): Promise<void> {
  const decision = await budgets.of(request.id).within(asked).catch(unlessSpent);
  if (decision !== null) apply(request, reply, decision);
}

/** Null if the store is unavailable: requests that run no model do not depend on it. */
async function plainDecision(limiter: RateLimiter, caller: RequestCaller): Promise<LimitDecision | null> {
  return await limiter.admitPlain(caller).catch(() => null);
}

/** A slow store does not stop them either. */
function unlessSpent(error: unknown): null {
  if (error instanceof BudgetSpent) return null;
  throw error;
}

/** Which responses count towards the block: every failure, unless its key could not be checked. */
function countsAsFailure({ caller, headers, keyUnchecked }: FastifyRequest, { statusCode }: FastifyReply): boolean {
  const isUnknown = caller === null && headers.authorization !== undefined && statusCode === 503;
  return statusCode >= 400 && !isUnknown && !keyUnchecked;
}

/**
 * Checks that every request passes and headers that every response to a key has: limits that depend on no model, the
 * block after failures, and the headers of limits and balances. Slices check the limits of models through
 * `RequestPipeline`.
 */
export function addRateLimits(server: FastifyInstance, { limiter, balances, budgets }: RateLimitDependencies): void {
  server.decorateRequest('limitDecision', null);
  const refuse = refuseUnauthenticated(limiter);

  server.addHook('onRequest', async (request, reply) => {
    const { caller, keyUnchecked } = request;
    if (!isApiRoute(request)) return;
    if (caller === null) {
      const refusal = keyUnchecked ? null : refuse(request);
      if (refusal !== null) throw refusal;
      return;
    }
    const limited = applyPlainLimit(limiter, caller, request.routeOptions.config as RouteSettings);
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
    // A response without these headers is better than one that waits for an unavailable store.
    const [, decision, balance] = await budgets
      .of(request.id)
      .within(facts)
      .catch(() => [undefined, null, null] as const);
    if (decision !== null) void reply.headers(decision.headers);
    if (balance !== null) void reply.headers(balanceHeaders({ balanceBefore: balance }));
  };

  server.addHook('onSend', async (request, reply, payload) => {
    const failed = countsAsFailure(request, reply);
    const isComplete = request.limitDecision !== null && reply.hasHeader('x-service-balance-usd');
    if (isApiRoute(request) && (failed || (request.caller !== null && !isComplete))) {
      await complete(request, reply, failed);
    }
    return payload;
  });
}
