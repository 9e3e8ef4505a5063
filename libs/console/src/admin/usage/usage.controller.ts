import { Controller, Get, Query } from '@nestjs/common';
import { type UsageGrouping, usageGroupings, UsageReportService } from '#billing/usage';
import { Access, Exchange, type HttpExchange } from '#platform/http';
import { readChoice, readScope, readText } from '../admin-query.js';
import { readDayRange } from '../day-range.query.js';
import { UsageCsvRoute, UsageRoute } from './usage.document.js';
import { presentUsage, usageCsv } from './usage.presenter.js';
import type { AdminUsageResponse } from './usage.response.js';

@Controller()
export class UsageController {
  constructor(private readonly reports: UsageReportService) {}

  @Get('usage')
  @Access('inference')
  @UsageRoute()
  async usage(@Exchange() http: HttpExchange, @Query() query: unknown): Promise<AdminUsageResponse> {
    return (await this.read(http, query)).usage;
  }

  @Get('usage.csv')
  @Access('inference')
  @UsageCsvRoute()
  async csv(@Exchange() http: HttpExchange, @Query() query: unknown): Promise<string> {
    const { usage, groupBy } = await this.read(http, query);
    http.setHeaders({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename=usage-${usage.from}-${usage.to}-by-${groupBy}.csv`,
    });
    return usageCsv(usage, groupBy);
  }

  private async read(
    { caller }: HttpExchange,
    query: unknown,
  ): Promise<{ usage: AdminUsageResponse; groupBy: UsageGrouping }> {
    const groupBy = readChoice(query, 'groupBy', usageGroupings) ?? 'day';
    const days = readDayRange(query, Date.now());
    const selection = { ...readScope(query, caller), modelId: readText(query, 'model') };
    return { usage: presentUsage(await this.reports.report(selection, days, groupBy), days), groupBy };
  }
}
