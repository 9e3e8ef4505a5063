import { Injectable } from '#platform/injection';
import { dateIn, datesBetween, dayBorders, type DayRange } from './local-days.js';
import { distinctNames } from './usage-analytics.js';
import {
  type UsageFigures,
  type UsageGrouping,
  type UsageGroupRow,
  UsageReportRepository,
  type UsageSelection,
} from './usage-report.repository.js';

/** A line of a report: `key` is a date, a model, the id of an API key, or a modality; `label` is what people read. */
export interface UsageGroup extends UsageFigures {
  key: string;
  label: string;
}

export interface UsageReport {
  groups: UsageGroup[];
  total: UsageFigures;
}

const noFigures: UsageFigures = {
  requests: 0,
  failed: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  spendNano: 0n,
  diemNano: 0n,
};

/** Reports usage and its cost in the days of a time zone. The sum of all lines is what the ledger charged. */
@Injectable()
export class UsageReportService {
  constructor(private readonly repository: UsageReportRepository) {}

  /** Days are in their order, those without usage included; other groups begin with the highest spend. */
  async report(selection: UsageSelection, days: DayRange, groupBy: UsageGrouping): Promise<UsageReport> {
    const rows = await this.repository.groups(selection, dayBorders(days), groupBy);
    const total = rows.reduce<UsageFigures>(sumOf, noFigures);
    return { groups: await this.groupsOf(rows, days, groupBy), total };
  }

  /** What was spent on the present day of a zone. */
  async spentToday(selection: UsageSelection, timeZone: string, nowMs: number): Promise<bigint> {
    const today = dateIn(timeZone)(nowMs);
    const { total } = await this.report(selection, { startDate: today, endDate: today, timeZone }, 'type');
    return total.spendNano;
  }

  private async groupsOf(rows: UsageGroupRow[], days: DayRange, groupBy: UsageGrouping): Promise<UsageGroup[]> {
    if (groupBy === 'day') return byDay(rows, days);
    const labels = groupBy === 'key' ? await this.keyLabels(rows) : new Map<string, string>();
    return rows
      .map((row) => ({ ...row, label: labels.get(row.key) ?? row.key }))
      .toSorted((left, right) => bySpend(left, right));
  }

  private async keyLabels(rows: UsageGroupRow[]): Promise<Map<string | null, string>> {
    const keyIds = rows.map(({ key }) => key).filter((key) => key !== '');
    return distinctNames(await this.repository.keyNames(keyIds));
  }
}

function byDay(rows: UsageGroupRow[], { startDate, endDate }: DayRange): UsageGroup[] {
  const byNumber = new Map(rows.map((row) => [Number(row.key), row]));
  return datesBetween(startDate, endDate).map((date, index) => {
    return { ...(byNumber.get(index + 1) ?? noFigures), key: date, label: date };
  });
}

function bySpend(left: UsageGroup, right: UsageGroup): number {
  if (left.spendNano !== right.spendNano) return left.spendNano < right.spendNano ? 1 : -1;
  return right.requests - left.requests || (left.label < right.label ? -1 : 1);
}

function sumOf(sum: UsageFigures, figures: UsageFigures): UsageFigures {
  return {
    requests: sum.requests + figures.requests,
    failed: sum.failed + figures.failed,
    promptTokens: sum.promptTokens + figures.promptTokens,
    cachedTokens: sum.cachedTokens + figures.cachedTokens,
    completionTokens: sum.completionTokens + figures.completionTokens,
    spendNano: sum.spendNano + figures.spendNano,
    diemNano: sum.diemNano + figures.diemNano,
  };
}
