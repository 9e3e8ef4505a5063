import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ModelManifest } from '#model-registry/manifest';
import type { TokenReservation } from '#rate-limit';

/** What a request asks of the limits of its model. */
export interface ModelDemand {
  model: Pick<ModelManifest, 'id' | 'type' | 'tier'>;
  /** `retrieve` polls an async job, which has its own limit. Default: `run`. */
  action?: 'run' | 'retrieve';
  /**
   * Text models: maximum tokens of prompt and output. When the caller named no limit, `min` says how far the request
   * can be reduced; otherwise both are equal.
   */
  tokens?: { min: number; max: number };
  /** False: the response keeps its `x-ratelimit-*`, unless this limit refuses. Default: true. */
  setsHeaders?: boolean;
}

/** What the limits allow. */
export interface AdmittedUse {
  /** Tokens the request may use: `max`, or fewer where the limit per minute is lower. */
  tokens: number;
  /** What the rate limit reserved; goes into `OpenRequest`. */
  tokenReservation: TokenReservation | null;
}

/** A request and the response that gets its headers. */
export interface LimitedRequest {
  request: FastifyRequest;
  reply: FastifyReply;
}
