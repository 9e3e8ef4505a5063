import { Controller, Get } from '@nestjs/common';
import { ApiRoute, Exchange, type HttpExchange } from '#platform/http';
import { presentLimits, presentRefusals } from './rate-limit.presenter.js';
import type { RateLimitLogResponse, RateLimitsResponse } from './rate-limit.response.js';
import { limitsDocument, logDocument } from './rate-limits.document.js';
import { RateLimitsService } from './rate-limits.service.js';

/** For any key: returns its own limits and refusals. */
@Controller('api_keys')
export class RateLimitsController {
  constructor(private readonly limits: RateLimitsService) {}

  @Get('rate_limits')
  @ApiRoute(limitsDocument)
  async show(@Exchange() { caller }: HttpExchange): Promise<RateLimitsResponse> {
    return presentLimits(caller.tier, await this.limits.overview(caller));
  }

  @Get('rate_limits/log')
  @ApiRoute(logDocument('getApiKeyRateLimitLogs'))
  async log(@Exchange() { caller }: HttpExchange): Promise<RateLimitLogResponse> {
    return presentRefusals(await this.limits.refusals(caller.accountId));
  }

  @Get('rate_limit_logs')
  @ApiRoute(logDocument('getApiKeyRateLimitLogsAlias'))
  async logs(@Exchange() http: HttpExchange): Promise<RateLimitLogResponse> {
    return await this.log(http);
  }
}
