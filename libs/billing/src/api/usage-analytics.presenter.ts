import { displayNanos } from '#common';
import type { DailySeries, Spend, UsageAnalytics } from '../usage/usage-analytics.js';
import type { UsageAnalyticsResponse } from './usage-analytics.response.js';

const decimals = 9;

function shown({ usdNano, diemNano }: Spend): { usd: number; diem: number } {
  return { usd: displayNanos(usdNano, decimals), diem: displayNanos(diemNano, decimals) };
}

function totals(spend: Spend): { totalUsd: number; totalDiem: number } {
  const { usd, diem } = shown(spend);
  return { totalUsd: usd, totalDiem: diem };
}

function daily({ date, diemByName }: DailySeries): Record<string, number> {
  const values = [...diemByName].map(([name, nanos]) => [name, displayNanos(nanos, decimals)] as const);
  return Object.fromEntries([['date', Date.parse(date)], ...values]) as Record<string, number>;
}

export function presentAnalytics(lookback: string, usage: UsageAnalytics): UsageAnalyticsResponse {
  return {
    lookback,
    byDate: usage.byDate.map(({ date, ...spend }) => ({ date, USD: shown(spend).usd, DIEM: shown(spend).diem })),
    byModel: usage.byModel.map((model) => ({
      modelName: model.modelName,
      unitType: model.unitType,
      modelType: model.modelType,
      ...totals(model),
      totalUnits: model.units,
      breakdown: model.parts.map((part) => ({ type: part.type, ...shown(part), units: part.units })),
    })),
    byModelDaily: usage.byModelDaily.map(daily),
    topModels: usage.topModels,
    byKey: usage.byKey.map((key) => ({
      apiKeyId: key.apiKeyId,
      description: key.name,
      ...totals(key),
      totalUnits: key.units,
    })),
    byKeyDaily: usage.byKeyDaily.map(daily),
    topKeyNames: usage.topKeyNames,
  };
}
