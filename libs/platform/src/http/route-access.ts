import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { RouteConfig } from '@nestjs/platform-fastify';

/** Where Nest's adapter keeps the settings of a route; it does not export the name. */
const settingsKey = '__fastify_route_config__';

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

/** How an answer that was lost can be made again from the job it was about; see `Billed`. */
export type AnswerOfJob = (job: { requestId: string; modelId: string }) => object;

/** What a route says of itself; read by the hooks of the api before the body is. */
export interface RouteSettings {
  access?: RouteAccess;
  /** A POST that costs something: it takes an `Idempotency-Key` (docs/idempotency.md). */
  billed?: true;
  /** With `billed`, of routes that only start a job: their answer follows from the job's row alone. */
  answerOfJob?: AnswerOfJob;
}

/** Adds to the settings of a route; Nest's own decorator would replace what another has said. */
function routeSettings(settings: RouteSettings): MethodDecorator {
  return (target, key, descriptor) => {
    const handler = descriptor.value as object;
    const known = Reflect.getMetadata(settingsKey, handler) as RouteSettings | undefined;
    return RouteConfig({ ...known, ...settings })(target, key, descriptor) as void;
  };
}

/**
 * Declares who may call a route; without it any valid key may. A sent key that is wrong is refused on public
 * routes too.
 */
export function Access(access: RouteAccess): MethodDecorator {
  return routeSettings({ access });
}

/**
 * Declares a POST that costs something: whoever repeats it with the same `Idempotency-Key` and body gets the first
 * answer and pays nothing, whatever the answer is, JSON, bytes or events. `answerOfJob` is for routes that only start a
 * job whose id is the request's: where a replica died before it could answer, the answer is made again from the job.
 */
export function Billed({ answerOfJob }: { answerOfJob?: AnswerOfJob } = {}): MethodDecorator {
  return routeSettings(answerOfJob === undefined ? { billed: true } : { billed: true, answerOfJob });
}
