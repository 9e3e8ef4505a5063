import { Module } from '@nestjs/common';
import { RateLimitModule } from '../nest/rate-limit.module.js';
import { RateLimitsController } from './rate-limits.controller.js';
import { RateLimitsService } from './rate-limits.service.js';

/** The routes that tell callers their limits and refusals. The process provides `LimitFacts`. */
@Module({ imports: [RateLimitModule], controllers: [RateLimitsController], providers: [RateLimitsService] })
export class RateLimitsApiModule {}
