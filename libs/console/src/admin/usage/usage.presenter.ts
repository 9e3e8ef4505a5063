import type { DayRange, UsageFigures, UsageGrouping, UsageReport } from '#billing/usage';
import { formatNanos } from '#common';
import { csvText } from '#platform/text';
import type { AdminUsageResponse, UsageFiguresResponse } from './usage.response.js';

const decimals = 9;

export function presentUsage(report: UsageReport, { startDate, endDate, timeZone }: DayRange): AdminUsageResponse {
  return {
    currency: 'USD',
    from: startDate,
    to: endDate,
    tz: timeZone,
    groups: report.groups.map(({ key, label, ...figures }) => ({ key, label, ...presentFigures(figures) })),
    total: presentFigures(report.total),
  };
}

function presentFigures({ spendNano, diemNano, ...counts }: UsageFigures): UsageFiguresResponse {
  return { ...counts, spend: formatNanos(spendNano, decimals), diem: formatNanos(diemNano, decimals) };
}

const columns = ['requests', 'failed', 'promptTokens', 'cachedTokens', 'completionTokens', 'spend', 'diem'] as const;

/** The same as a file: a line per group, and a last one with the total. */
export function usageCsv({ groups, total }: AdminUsageResponse, groupBy: UsageGrouping): string {
  const figures = (row: UsageFiguresResponse) => columns.map((column) => row[column]);
  return csvText([
    [groupBy, 'label', ...columns],
    ...groups.map((group) => [group.key, group.label, ...figures(group)]),
    ['total', '', ...figures(total)],
  ]);
}
