import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ModelManifest } from '#model-registry/manifest';
import type { TokenReservation } from '#rate-limit';

/** What a request asks of the limits of its model. */
export interface ModelDemand {
  model: Pick<ModelManifest, 'id' | 'type' | 'tier'>;
  /** `retrieve`: asking how an async job is doing, which has a limit of its own. Default: `run`. */
  action?: 'run' | 'retrieve';
  /**
   * Text models: tokens of prompt and output at most. Where the caller has named no bound, `least` says how far the
   * request can be held; else both are the same.
   */
  tokens?: { min: number; max: number };
}

/** What the limits let through. */
export interface AdmittedUse {
  /** Tokens the request may use: `most`, or less where a minute of the limit is less. */
  tokens: number;
  /** Goes into `OpenRequest`. */
  tokenReservation: TokenReservation | null;
}

/** A request and the answer its headers belong to. */
export interface LimitedRequest {
  request: FastifyRequest;
  reply: FastifyReply;
}
