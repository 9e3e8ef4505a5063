import { applyDecorators, Controller, Get, Inject, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { ApiErrors, callerOf } from '#platform/http';
import { presentLimits, presentRefusals } from './rate-limit.presenter.js';
import { RateLimitLogResponse, RateLimitsResponse } from './rate-limit.response.js';
import { RateLimitsService } from './rate-limits.service.js';

/** Both paths of the log. */
function LogDocument(operationId: string): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId,
      summary: 'List refused requests',
      description: 'The last 50 requests of the account that a limit refused, with the limit that did.',
    }),
    ApiOkResponse({ type: RateLimitLogResponse }),
    ApiErrors('standard', [401, 429, 500]),
  );
}

/** For any key: returns its own limits and refusals. */
@ApiTags('API Keys')
@Controller('api_keys')
export class RateLimitsController {
  constructor(@Inject(RateLimitsService) private readonly limits: RateLimitsService) {}

  @Get('rate_limits')
  @ApiOperation({
    operationId: 'getApiKeyRateLimits',
    summary: 'Show the limits and the balances of the caller',
    description: 'Requests and tokens per minute for each kind of model, and what the key can spend.',
  })
  @ApiOkResponse({ type: RateLimitsResponse })
  @ApiErrors('standard', [401, 429, 500])
  async show(@Req() request: FastifyRequest): Promise<RateLimitsResponse> {
    const caller = callerOf(request);
    return presentLimits(caller.tier, await this.limits.overview(caller));
  }

  @Get('rate_limits/log')
  @LogDocument('getApiKeyRateLimitLogs')
  async log(@Req() request: FastifyRequest): Promise<RateLimitLogResponse> {
    return await this.lines(request);
  }

  @Get('rate_limit_logs')
  @LogDocument('getApiKeyRateLimitLogsAlias')
  async logs(@Req() request: FastifyRequest): Promise<RateLimitLogResponse> {
    return await this.lines(request);
  }

  private async lines(request: FastifyRequest): Promise<RateLimitLogResponse> {
    return presentRefusals(await this.limits.refusals(callerOf(request).accountId));
  }
}
