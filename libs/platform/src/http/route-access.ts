import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiConsumes, ApiHeader, ApiResponse } from '@nestjs/swagger';

/** Where Nest's adapter keeps the settings of a route; it does not export the name. */
const settingsKey = '__fastify_route_config__';

/**
 * Who may call a route: anybody, any valid key, or keys of kind `ADMIN`. A wrong key is refused on public routes too;
 * on anonymous ones it is as good as none, and a valid one only says whose limits the request counts for.
 */
export type RouteAccess = 'public' | 'inference' | 'admin' | 'anonymous';

/** Who is calling, as the api's guard found out; null without a key, and with a wrong one where none is asked for. */
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
export type ResponseOfJob = (job: { requestId: string; queueId: string; modelId: string }) => object;

/** What a route says of itself; read by the hooks of the api before the body is. */
export interface RouteSettings {
  access?: RouteAccess;
  /** An address that is gone for good: its answer is the same for everybody, and counts for nobody's limits. */
  retired?: true;
  /** A POST that costs something: it takes an `Idempotency-Key` (docs/idempotency.md). */
  billed?: true;
  /** A route that asks its limits itself, because they depend on the model of its body. */
  limitedByModel?: true;
  /** A route that is not billed and takes as much as one that is. */
  largeBody?: true;
  /** With `billed`, of routes that only start a job: their answer follows from the job's row alone. */
  responseOfJob?: ResponseOfJob;
  /** A route that takes `multipart/form-data`; others refuse it. */
  multipart?: MultipartLimits;
}

/** What a form may bring; more is a 413. */
export interface MultipartLimits {
  /** Bytes of one file. */
  maxFileBytes: number;
  maxFiles: number;
  /** True where JSON is refused: the route takes real files alone. */
  only?: true;
}

/** Adds to the settings of a route; Nest's own decorator would replace what another has said. */
function routeSettings(settings: RouteSettings): MethodDecorator {
  return (target, key, descriptor) => {
    const handler = descriptor.value as object;
    const known = Reflect.getMetadata(settingsKey, handler) as RouteSettings | undefined;
    return RouteConfig({ ...known, ...settings })(target, key, descriptor) as void;
  };
}

/** Declares who may call a route; without it any valid key may. */
export function Access(access: RouteAccess): MethodDecorator {
  return routeSettings({ access });
}

/** Declares an address that is gone; together with `Access('anonymous')`. */
export function Retired(): MethodDecorator {
  return routeSettings({ retired: true });
}

/**
 * Declares a route that holds each request to the limits of its model (`ModelRequest.limit`); all others are held
 * to the limit of requests that run no model before they begin.
 */
export function LimitedByModel(): MethodDecorator {
  return routeSettings({ limitedByModel: true });
}

/** Declares a route that takes JSON bodies as large as billed ones do, although it costs nothing. */
export function LargeBody(): MethodDecorator {
  return routeSettings({ largeBody: true });
}

/** Declares that a route takes `multipart/form-data`, read by `readBody` into the same DTO as JSON. */
export function Multipart(limits: MultipartLimits): MethodDecorator {
  const types = limits.only === true ? ['multipart/form-data'] : ['application/json', 'multipart/form-data'];
  return applyDecorators(routeSettings({ multipart: limits }), ApiConsumes(...types));
}

/**
 * Declares a POST that costs something: whoever repeats it with the same `Idempotency-Key` and body gets the first
 * answer and pays nothing, whatever the answer is, JSON, bytes or events. `answerOfJob` is for routes that only start a
 * job: where a replica died before it could answer, the answer is made again from the job.
 */
export function Billed({ responseOfJob }: { responseOfJob?: ResponseOfJob } = {}): MethodDecorator {
  return applyDecorators(
    routeSettings(responseOfJob === undefined ? { billed: true } : { billed: true, responseOfJob }),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'A request with the key and the body of an earlier one gets its answer, and costs nothing.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9_-]+$' },
    }),
    ApiResponse({ status: 409, description: 'The first request with this `Idempotency-Key` still runs.' }),
  );
}
