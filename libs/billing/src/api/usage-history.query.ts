import type { Currency } from '#common';
import { queryFault, queryText } from '#platform/http';
import type { UsageFilter } from '../usage/usage-cursor.js';

/** Currency names in responses. */
export const wireCurrencies = { USD: 'USD', DIEM: 'DIEM', BUNDLED: 'BUNDLED_CREDITS' } as const;

const pageSizes = { min: 10, max: 1_000 } as const;
const filterNames = ['currency', 'startTimestamp', 'endTimestamp', 'pageSize'] as const;
const timestamp = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/;
const longestTimestamp = 40;
/** PostgreSQL has no year 0, and nothing was charged before this one. */
export const firstYear = 1970;

/** A parsed `GET /billing/usage-history` query: a new history, or the page after a cursor. */
export type HistoryQuery = { filter: UsageFilter } | { cursor: string };

/** Throws `INVALID_REQUEST` naming the parameter. */
export function readHistoryQuery(query: unknown): HistoryQuery {
  const cursor = queryText(query, 'cursor');
  if (cursor !== undefined) {
    const beside = filterNames.find((name) => queryText(query, name) !== undefined);
    if (beside === undefined) return { cursor };
    throw queryFault('cursor', `A cursor goes on with the filters of its first page; leave ${beside} out.`);
  }
  const startMs = readTimestamp(query, 'startTimestamp');
  const endMs = readTimestamp(query, 'endTimestamp');
  if (startMs !== null && endMs !== null && endMs <= startMs) {
    throw queryFault('endTimestamp', 'endTimestamp must be later than startTimestamp.');
  }
  return { filter: { currency: readCurrency(query), startMs, endMs, pageSize: readPageSize(query) } };
}

function readCurrency(query: unknown): Currency | null {
  const text = queryText(query, 'currency');
  if (text === undefined) return null;
  const known = (Object.keys(wireCurrencies) as Currency[]).find((currency) => wireCurrencies[currency] === text);
  if (known !== undefined) return known;
  throw queryFault('currency', `currency must be one of: ${Object.values(wireCurrencies).join(', ')}.`);
}

function readPageSize(query: unknown): number {
  const text = queryText(query, 'pageSize');
  if (text === undefined) return pageSizes.max;
  const size = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (size >= pageSizes.min && size <= pageSizes.max) return size;
  throw queryFault('pageSize', `pageSize must be a whole number from ${pageSizes.min} to ${pageSizes.max}.`);
}

/** In ms, rounded up: entries have whole milliseconds, so the comparison stays exact. */
function readTimestamp(query: unknown, name: string): number | null {
  const text = queryText(query, name);
  if (text === undefined) return null;
  const [, date = '', time = '', fraction = '', zone = ''] =
    text.length <= longestTimestamp ? (timestamp.exec(text) ?? []) : [];
  const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  const sameDay = Number.isFinite(ms) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  if (!sameDay || Number(date.slice(0, 4)) < firstYear) {
    throw queryFault(name, `${name} must be a time such as 2026-11-21T00:00:00Z.`);
  }
  return ms + Math.ceil(Number(`0.${fraction || '0'}`) * 1000);
}
