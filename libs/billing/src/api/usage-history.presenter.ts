import { displayNanos, formatNanos } from '#common';
import { acceptedQuality, csvText, type CsvValue } from '#platform/text';
import type { UsageEntry } from '../usage/usage-history.repository.js';
import type { UsageEntryResponse } from './usage-history.response.js';
import { wireCurrencies } from './usage-history.query.js';

const decimals = 9;
const plainNote = 'API inference';

/** Returns one line as JSON. */
export function presentUsage(entry: UsageEntry): UsageEntryResponse {
  const { executionMs, promptTokens, completionTokens } = entry;
  const requestId = shownId(entry);
  return {
    timestamp: entry.createdAt.toISOString(),
    sku: entry.sku,
    units: Number(entry.units),
    pricePerUnitUsd: displayNanos(entry.unitPriceNano, decimals),
    amount: displayNanos(entry.amountNano, decimals),
    currency: wireCurrencies[entry.currency],
    notes: entry.note || plainNote,
    inferenceDetails:
      requestId === null ? null : { requestId, inferenceExecutionTime: executionMs, promptTokens, completionTokens },
  };
}

/** The id that the caller knows: that of the response's body, such as `chatcmpl-…`, else the request id. */
function shownId({ responseId, requestId }: UsageEntry): string | null {
  return responseId ?? requestId;
}

const columns = [
  'timestamp',
  'sku',
  'units',
  'pricePerUnitUsd',
  'amount',
  'currency',
  'notes',
  'inferenceDetails.requestId',
  'inferenceDetails.inferenceExecutionTime',
  'inferenceDetails.promptTokens',
  'inferenceDetails.completionTokens',
];

function row(entry: UsageEntry): CsvValue[] {
  // Amounts are written in full: not every spreadsheet reads 1e-7.
  return [
    entry.createdAt.toISOString(),
    entry.sku,
    entry.units,
    formatNanos(entry.unitPriceNano, decimals),
    formatNanos(entry.amountNano, decimals),
    wireCurrencies[entry.currency],
    entry.note || plainNote,
    shownId(entry),
    entry.executionMs,
    entry.promptTokens,
    entry.completionTokens,
  ];
}

/** Formats lines according to RFC 4180: header line, CRLF, columns in the order of the JSON. */
export function usageCsv(entries: readonly UsageEntry[]): string {
  return csvText([columns, ...entries.map(row)]);
}

/** `billing-usage-history-20261121T120000123Z.csv` */
export function csvFileName(nowMs: number): string {
  return `billing-usage-history-${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')}.csv`;
}

/** Returns true when the `Accept` header prefers CSV over JSON. */
export function wantsCsv(accept: string | undefined): boolean {
  const [csv, json] = [acceptedQuality(accept, 'text/csv'), acceptedQuality(accept, 'application/json')];
  return csv > 0 && csv >= json;
}
