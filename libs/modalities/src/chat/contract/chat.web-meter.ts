import { type JobUsage, nanosOf } from '#common';
import type { BillableUnit, Price } from '#model-registry/manifest';

/** What a chat looked up in the web. */
export interface WebUse {
  webSearches?: number;
  /** Price of each search: providers differ. Absent: the default one. */
  webSearchNano?: number;
  webPages?: number;
}

/** USD of a search, and of a page, for every model. */
export const defaultWebUsd = 0.01;

/** The units of a job that looked something up; undefined if it did not. */
export function webUnitsOf({ webSearches = 0, webSearchNano, webPages = 0 }: WebUse): JobUsage['units'] {
  if (webSearches + webPages === 0) return undefined;
  const searched = { webSearches, webSearchNano: webSearchNano ?? Number(nanosOf(defaultWebUsd)) };
  return { ...(webSearches > 0 ? searched : {}), ...(webPages > 0 ? { webPages } : {}) };
}

export function webUnits({ units = {} }: Pick<JobUsage, 'units'>): BillableUnit[] {
  const { webSearches = 0, webSearchNano = 0, webPages = 0 } = units;
  const billed: BillableUnit[] = [
    { sku: 'web-search-request', price: priceOf(webSearchNano / 1e9), measure: 'piece', count: webSearches },
    { sku: 'web-scrape-request', price: priceOf(defaultWebUsd), measure: 'piece', count: webPages },
  ];
  return billed.filter(({ count }) => count > 0);
}

function priceOf(usd: number): Price {
  return { usd, diem: usd };
}
