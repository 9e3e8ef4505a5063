import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RateLimiter } from '#rate-limit';
import { StoreBudgets } from '../request/store-budgets.js';
import { limitReplay } from './rate-limits.js';

/** Holds replayed responses, which run no model, to the limit of such requests. */
@Injectable()
export class ReplayLimit {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly budgets: StoreBudgets,
  ) {}

  /** Rejects with `RATE_LIMIT_EXCEEDED`. */
  async apply(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { limiter, budgets } = this;
    await limitReplay({ limiter, budgets }, request, reply);
  }
}
