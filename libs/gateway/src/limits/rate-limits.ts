import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RecentBalances } from '#billing';
import { BudgetSpent } from '#common';
import { callerOf, type RequestCaller, type RouteSettings } from '#platform/http';
import { limitClassOf, type LimitDecision, type RateLimiter } from '#rate-limit';
import { isApiRoute } from '../access/api-route.js';
import type { RefuseUnauthenticated } from '../access/authentication.js';
import { callerAddress } from '../access/caller-address.js';
import { balanceHeaders } from '../pipeline/request-headers.js';
import type { StoreBudgets } from '../pipeline/store-budgets.js';
import type { AdmittedUse, ModelDemand } from './model-limit.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the limits said of it; null before they were asked. */
    limitDecision: LimitDecision | null;
  }
}

export interface RateLimitDependencies {
  limiter: RateLimiter;
  budgets: StoreBudgets;
  balances: RecentBalances;
}

/** What a stranger gets whose address is blocked. */
export function refuseUnauthenticated(limiter: RateLimiter): RefuseUnauthenticated {
  return ({ ip }) => limiter.blockedAddress(callerAddress(ip));
}

function apply(request: FastifyRequest, reply: FastifyReply, decision: LimitDecision): void {
  request.limitDecision = decision;
  void reply.headers(decision.headers);
  if (decision.refusal !== null) throw decision.refusal;
}

/**
 * Holds a request that runs a model to its limits and sets their headers. Rejects with `RATE_LIMIT_EXCEEDED`, and with
 * `SERVICE_UNAVAILABLE` when they cannot be checked.
 */
export async function applyModelLimit(
  { limiter, budgets }: Pick<RateLimitDependencies, 'limiter' | 'budgets'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { model, action = 'run', tokens }: ModelDemand,
): Promise<AdmittedUse> {
  const limitClass = action === 'retrieve' ? 'retrieve' : limitClassOf(model);
  const asked = limiter.admitModel(callerOf(request), { modelId: model.id, limitClass, tokens });
  // An answer that comes too late has reserved for nobody.
  const decision = await budgets.of(request.id).within(asked, (late) => late.reservation?.release());
  const { reservation } = decision;
  // The request lets go of its tokens when its answer is out, or its caller has left: a job holds them, or nobody.
  if (reservation !== null) {
    if (reply.raw.destroyed) reservation.release();
    else reply.raw.once('close', () => reservation.release());
  }
  apply(request, reply, decision);
  return { tokens: decision.tokens, tokenReservation: reservation };
}

/** Holds requests of a key that run no model to the limit of those; before the store is asked, whoever is blocked. */
async function applyPlainLimit(
  limiter: RateLimiter,
  caller: RequestCaller,
  { limitedByModel }: RouteSettings,
): Promise<LimitDecision | null> {
  const blocked = await limiter.blocked(caller);
  if (blocked !== null || limitedByModel === true) return blocked;
  return await plainDecision(limiter, caller);
}

/** Holds an answer that was kept, and runs no model, to the limit of such requests. Rejects with `RATE_LIMIT_EXCEEDED`. */
export async function limitReplay(
  { limiter, budgets }: Pick<RateLimitDependencies, 'limiter' | 'budgets'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (request.limitDecision === null)
    await applyInTime(budgets, { request, reply }, plainDecision(limiter, callerOf(request)));
}

/** Applies a verdict that comes within the request's budget; none, where it comes later. */
async function applyInTime(
  budgets: StoreBudgets,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  asked: Promise<LimitDecision | null>,
): Promise<void> {
  const decision = await budgets.of(request.id).within(asked).catch(unlessSpent);
  if (decision !== null) apply(request, reply, decision);
}

/** Null when the store is away: what runs no model does not stand still with it. */
async function plainDecision(limiter: RateLimiter, caller: RequestCaller): Promise<LimitDecision | null> {
  return await limiter.admitPlain(caller).catch(() => null);
}

/** What runs no model does not stand still with a store that is late either. */
function unlessSpent(error: unknown): null {
  if (error instanceof BudgetSpent) return null;
  throw error;
}

/** What counts for the block (gap 61): every failure, unless the key that came with it could not be checked. */
function countsAsFailure({ caller, headers, keyUnchecked }: FastifyRequest, { statusCode }: FastifyReply): boolean {
  const isUnknown = caller === null && headers.authorization !== undefined && statusCode === 503;
  return statusCode >= 400 && !isUnknown && !keyUnchecked;
}

/**
 * What every request has to pass, and every answer to a key says: limits that depend on no model, the block after
 * failures, and the headers of limits and balances. Fastify hooks and not a guard or an interceptor: limits hold before the
 * body is read, and errors and unknown routes, which no interceptor sees, carry the same headers.
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
      // One that failed before it came to its model counts like one that runs none.
      caller !== null && request.limitDecision === null ? plainDecision(limiter, caller) : null,
      caller !== null && !reply.hasHeader('x-service-balance-usd') ? balances.of(caller.accountId) : null,
    ]);
    // An answer without them is better than one that waits for a store that does not answer.
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
