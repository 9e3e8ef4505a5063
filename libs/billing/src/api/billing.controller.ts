import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { Access, ApiErrors, callerOf, Retired } from '#platform/http';
import { LedgerService } from '../ledger.service.js';
import { UsageAnalyticsService } from '../usage/usage-analytics.service.js';
import { UsageHistoryService } from '../usage/usage-history.service.js';
import { BalanceResponse, presentBalance } from './balance.response.js';
import { UsageHistoryDocument } from './usage-history.document.js';
import { presentAnalytics } from './usage-analytics.presenter.js';
import { readAnalyticsQuery } from './usage-analytics.query.js';
import { UsageAnalyticsResponse } from './usage-analytics.response.js';
import { csvFileName, presentUsage, usageCsv, wantsCsv } from './usage-history.presenter.js';
import { readHistoryQuery } from './usage-history.query.js';

const successor = '/api/v1/billing/usage-history';
/** `/billing/usage` never existed here; clients written for another service call it. */
const farewell = {
  deprecation: '@1767225600',
  sunset: 'Wed, 01 Jul 2026 00:00:00 GMT',
  link: `<${successor}>; rel="successor-version"`,
};
const farewellHeaders = {
  Deprecation: { description: 'Since when.', schema: { type: 'string' } },
  Sunset: { description: 'When the route was retired.', schema: { type: 'string' } },
  Link: { description: 'The replacement route.', schema: { type: 'string' } },
} as const;

const day = { type: 'string', pattern: String.raw`^\d{4}-\d{2}-\d{2}$` };

@ApiTags('Billing')
@Controller('billing')
export class BillingController {
  constructor(
    @Inject(LedgerService) private readonly ledger: LedgerService,
    @Inject(UsageHistoryService) private readonly history: UsageHistoryService,
    @Inject(UsageAnalyticsService) private readonly analytics: UsageAnalyticsService,
  ) {}

  @Get('balance')
  @Access('admin')
  @ApiOperation({
    operationId: 'getBillingBalance',
    summary: 'Show what the account can spend',
    description: 'The balance in each currency, without what running requests have reserved.',
  })
  @ApiOkResponse({ type: BalanceResponse })
  @ApiErrors('standard', [401, 403, 429, 500])
  async balance(@Req() request: FastifyRequest): Promise<BalanceResponse> {
    return presentBalance(await this.ledger.balance(callerOf(request).accountId));
  }

  @Get('usage')
  @Access('anonymous')
  @Retired()
  @ApiOperation({
    operationId: 'getBillingUsage',
    summary: 'Gone',
    description: 'Always 410: use `GET /billing/usage-history`.',
    deprecated: true,
    security: [],
  })
  @ApiResponse({ status: 410, description: 'Always; `Link` names the successor.', headers: farewellHeaders })
  @ApiErrors('standard', [410])
  usage(@Res({ passthrough: true }) reply: FastifyReply): never {
    void reply.headers(farewell);
    throw new PlatformError('ENDPOINT_RETIRED', `This address is gone. Use ${successor} instead.`);
  }

  @Get('usage-history')
  @Access('admin')
  @UsageHistoryDocument()
  async usageHistory(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() query: unknown,
  ): Promise<void> {
    const { accountId } = callerOf(request);
    const asked = readHistoryQuery(query);
    const { entries, nextCursor } =
      'cursor' in asked
        ? await this.history.next(accountId, asked.cursor)
        : await this.history.first(accountId, asked.filter);
    if (!wantsCsv(request.headers.accept)) {
      void reply.status(200).send({ data: entries.map(presentUsage), nextCursor });
      return;
    }
    if (nextCursor !== null) void reply.header('x-next-cursor', nextCursor);
    void reply
      .status(200)
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename=${csvFileName(Date.now())}`)
      .send(usageCsv(entries));
  }

  @Get('usage-analytics')
  @Access('admin')
  @ApiOperation({
    operationId: 'getBillingUsageAnalytics',
    summary: 'Aggregate usage by day, model and key',
    description: 'Sums of charges over at most 90 days, for charts: by day, by model and by key.',
  })
  @ApiQuery({
    name: 'lookback',
    required: false,
    schema: { type: 'string', pattern: String.raw`^[1-9]\d*d$`, default: '7d' },
    description: 'Number of days, today (UTC) included; at most 90.',
  })
  @ApiQuery({ name: 'startDate', required: false, schema: day, description: 'First day (UTC), with `endDate`.' })
  @ApiQuery({ name: 'endDate', required: false, schema: day, description: 'Last day (UTC), with `startDate`.' })
  @ApiOkResponse({ type: UsageAnalyticsResponse })
  @ApiErrors('standard', [400, 401, 403, 429, 500, 504])
  async usageAnalytics(@Req() request: FastifyRequest, @Query() query: unknown): Promise<UsageAnalyticsResponse> {
    const { days, lookback } = readAnalyticsQuery(query, Date.now());
    return presentAnalytics(lookback, await this.analytics.analyse(callerOf(request).accountId, days));
  }
}
