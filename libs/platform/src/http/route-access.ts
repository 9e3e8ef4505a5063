import type { FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiConsumes, ApiHeader, ApiResponse } from '@nestjs/swagger';

/** Metadata key under which Nest's adapter stores route settings; it is not exported. */
const settingsKey = '__fastify_route_config__';

/**
 * Who may call a route: anyone, any valid key, `ADMIN` keys, those of an operator account, or wallets alone. Public routes still reject an invalid key.
 * Anonymous routes ignore one; a valid key only determines whose limits the request counts for.
 */
export type RouteAccess = 'public' | 'inference' | 'admin' | 'operator' | 'wallet' | 'anonymous';

/** The authenticated caller; null without a key, or with an invalid key on an anonymous route. */
export interface RequestCaller {
  accountId: string;
  apiKeyId: string;
  kind: 'INFERENCE' | 'ADMIN';
  /** Rate-limit tier of the account. */
  tier: 'default' | 'partner';
  /** Models that the key may call. */
  modelPrivacy: 'ALL' | 'PRIVATE_TEXT' | 'PRIVATE_ONLY';
  /** The account may use models in closed beta. */
  betaAccess: boolean;
  /** The key is an ADMIN key of an operator account, which may see the whole installation. */
  isOperator?: true;
  /** Address of a caller who signed in with a wallet instead of sending a key. */
  wallet?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: RequestCaller | null;
  }
}

/** Returns the caller on a route that requires a key. */
export function callerOf(request: FastifyRequest): RequestCaller {
  if (request.caller === null) throw new PlatformError('AUTHENTICATION_FAILED', 'An API key is required.');
  return request.caller;
}

/** How a lost response is rebuilt from its job; see `Billed`. */
export type ResponseOfJob = (job: { requestId: string; queueId: string; modelId: string }) => object;

/** Settings that a route declares; hooks read them before the body is read. */
export interface RouteSettings {
  access?: RouteAccess;
  /** A route that takes the sign-in of a wallet instead of a key; see `Wallets`. */
  wallets?: true;
  /** A route outside of the API whose failures count towards the block of the client's address, as those of the API do. */
  guarded?: true;
  /** A removed endpoint: its response is the same for everyone and counts towards no limit. */
  retired?: true;
  /** A POST that is charged; accepts an `Idempotency-Key` (docs/guides/idempotency.md). */
  billed?: true;
  /** A route that applies its limits itself, because they depend on the model in its body. */
  limitedByModel?: true;
  /**
   * A GET whose JSON response depends only on its address and on what its caller may see: a client that accepts a response
   * of some age (`cache-control: max-age`) may get that of another one who may see the same.
   */
  shared?: true;
  /** An unbilled route with the body limit of billed ones. */
  largeBody?: true;
  /** With `billed`, for routes that only start a job: their response follows from the job row alone. */
  responseOfJob?: ResponseOfJob;
  /** A route that gets the bytes of its JSON body (`RawJsonBody`), `maxBytes` of them at most, and parses it itself. */
  rawJson?: { maxBytes: number };
  /** A route that accepts `multipart/form-data`; others reject it. */
  multipart?: MultipartLimits;
}

/** Limits of a form: a larger file gives a 413, more files a 400. */
export interface MultipartLimits {
  /** Maximum size of one file, in bytes. */
  maxFileBytes: number;
  maxFiles: number;
  /** True when JSON is rejected because the route requires files. */
  only?: true;
}

/** Merges into the route settings; Nest's own decorator would replace earlier ones. */
export function routeSettings(settings: RouteSettings): MethodDecorator {
  return (target, key, descriptor) => {
    const handler = descriptor.value as object;
    const known = Reflect.getMetadata(settingsKey, handler) as RouteSettings | undefined;
    return RouteConfig({ ...known, ...settings })(target, key, descriptor) as void;
  };
}

/**
 * Declares who may call a route; default: any valid key. `guarded` is for a route outside of the API whose failures count
 * towards the block of the client's address, `shared` for one whose response several clients may get.
 */
export function Access(access: RouteAccess, options: Pick<RouteSettings, 'guarded' | 'shared'> = {}): MethodDecorator {
  return routeSettings({ access, ...options });
}

/** Declares a removed endpoint; use with `Access('anonymous')`. */
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

/** Declares an unbilled route that accepts JSON bodies as large as billed ones. */
export function LargeBody(): MethodDecorator {
  return routeSettings({ largeBody: true });
}

/** Declares that a route reads the bytes of its JSON body with `RawJsonBody`. */
export function RawJson(rawJson: { maxBytes: number }): MethodDecorator {
  return routeSettings({ rawJson });
}

/** Declares that a route accepts `multipart/form-data`, read by `readBody` into the same DTO as JSON. */
export function Multipart(limits: MultipartLimits): MethodDecorator {
  const types = limits.only === true ? ['multipart/form-data'] : ['application/json', 'multipart/form-data'];
  return applyDecorators(routeSettings({ multipart: limits }), ApiConsumes(...types));
}

/**
 * Declares a charged POST. A repeated request with the same `Idempotency-Key` and body gets the first response (JSON,
 * bytes or events) and is not charged. `responseOfJob` is for routes that only start a job: if a replica died before
 * responding, the response is rebuilt from the job.
 */
export function Billed({ responseOfJob }: { responseOfJob?: ResponseOfJob } = {}): MethodDecorator {
  return applyDecorators(
    routeSettings(responseOfJob === undefined ? { billed: true } : { billed: true, responseOfJob }),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'A request with the key and body of an earlier one gets the same response and is not charged.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9_-]+$' },
    }),
    ApiResponse({ status: 409, description: 'The first request with this `Idempotency-Key` is still running.' }),
  );
}
