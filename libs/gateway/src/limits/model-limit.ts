import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ModelManifest } from '#model-registry/manifest';
import type { TokenReservation } from '#rate-limit';

/** What a request uses of its model's limits. */
export interface ModelDemand {
  model: Pick<ModelManifest, 'id' | 'type' | 'tier'>;
  /** `retrieve`: polling an async job, which has its own limit. Default: `run`. */
  action?: 'run' | 'retrieve';
  /**
   * Text models: maximum tokens of prompt and output. Without a bound from the client, `min` says how far the request
   * can be reduced; otherwise both are equal.
   */
  tokens?: { min: number; max: number };
}

/** What the limits allow. */
export interface AdmittedUse {
  /** Tokens that the request may use: `max`, or fewer if the limit per minute is lower. */
  tokens: number;
  /** Passed to `OpenRequest`. */
  tokenReservation: TokenReservation | null;
}

/** A request and the reply that gets its headers. */
export interface LimitedRequest {
  request: FastifyRequest;
  reply: FastifyReply;
}
