import { Controller, Get, Query } from '@nestjs/common';
import { PlatformError } from '#common';
import { Access, ApiRoute, Exchange, type HttpExchange, Retired } from '#platform/http';
import { LedgerService } from '../ledger.service.js';
import { UsageAnalyticsService } from '../usage/usage-analytics.service.js';
import { UsageHistoryService } from '../usage/usage-history.service.js';
import { type BalanceResponse, presentBalance } from './balance.response.js';
import { balanceDocument, retiredUsageDocument, UsageAnalyticsRoute, UsageHistoryRoute } from './billing.document.js';
import { presentAnalytics } from './usage-analytics.presenter.js';
import { readAnalyticsQuery } from './usage-analytics.query.js';
import type { UsageAnalyticsResponse } from './usage-analytics.response.js';
import { csvFileName, presentUsage, usageCsv, wantsCsv } from './usage-history.presenter.js';
import { readHistoryQuery } from './usage-history.query.js';
import type { UsageHistoryResponse } from './usage-history.response.js';

const successor = '/api/v1/billing/usage-history';
/** `/billing/usage` never existed here; clients written for another service call it. */
const farewell = {
  deprecation: '@1767225600',
  sunset: 'Wed, 01 Jul 2026 00:00:00 GMT',
  link: `<${successor}>; rel="successor-version"`,
};

@Controller('billing')
export class BillingController {
  constructor(
    private readonly ledger: LedgerService,
    private readonly history: UsageHistoryService,
    private readonly analytics: UsageAnalyticsService,
  ) {}

  @Get('balance')
  @Access('admin')
  @ApiRoute(balanceDocument)
  async balance(@Exchange() { caller }: HttpExchange): Promise<BalanceResponse> {
    return presentBalance(await this.ledger.balance(caller.accountId));
  }

  @Get('usage')
  @Access('anonymous')
  @Retired()
  @ApiRoute(retiredUsageDocument)
  usage(@Exchange() http: HttpExchange): never {
    http.setHeaders(farewell);
    throw new PlatformError('ENDPOINT_RETIRED', `This address is gone. Use ${successor} instead.`);
  }

  @Get('usage-history')
  @Access('admin')
  @UsageHistoryRoute()
  async usageHistory(@Exchange() http: HttpExchange, @Query() query: unknown): Promise<UsageHistoryResponse | string> {
    const { accountId } = http.caller;
    const wanted = readHistoryQuery(query);
    const { entries, nextCursor } =
      'cursor' in wanted
        ? await this.history.next(accountId, wanted.cursor)
        : await this.history.first(accountId, wanted.filter);
    if (!wantsCsv(http.request.headers.accept)) return { data: entries.map(presentUsage), nextCursor };
    if (nextCursor !== null) http.setHeaders({ 'x-next-cursor': nextCursor });
    http.setHeaders({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename=${csvFileName(Date.now())}`,
    });
    return usageCsv(entries);
  }

  @Get('usage-analytics')
  @Access('admin')
  @UsageAnalyticsRoute()
  async usageAnalytics(@Exchange() { caller }: HttpExchange, @Query() query: unknown): Promise<UsageAnalyticsResponse> {
    const { days, lookback } = readAnalyticsQuery(query, Date.now());
    return presentAnalytics(lookback, await this.analytics.analyse(caller.accountId, days));
  }
}
