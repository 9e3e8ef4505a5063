import { formatNumber, formatTable } from '../report.js';
import type { CaseResult } from './run-cases.js';

const megabytes = (bytes: number): string => String(Math.round(bytes / 1024 / 1024));

const columns: [title: string, cell: (result: CaseResult) => string][] = [
  ['case / contender', (result) => `${result.case} / ${result.contender}`],
  ['tokens/s', (result) => formatNumber(result.tokensPerSecond)],
  ['decode tokens/s', (result) => formatNumber(result.decodeTokensPerSecond)],
  ['per stream', (result) => formatNumber(result.perStreamTokensPerSecond)],
  ['first token p50 ms', (result) => formatNumber(result.firstTokenP50Ms)],
  ['p95 ms', (result) => formatNumber(result.firstTokenP95Ms)],
  [
    'lag api / worker / host ms',
    ({ lag }) => (lag ? [lag.apiMs, lag.workerMs, lag.hostMs].map(formatNumber).join(' / ') : ''),
  ],
  ['MB', (result) => megabytes(result.residentBytes)],
];

/** Formats all results as a Markdown table. */
export function resultTable(results: readonly CaseResult[]): string {
  return formatTable(
    columns.map(([title]) => title),
    results.map((result) => columns.map(([, cell]) => cell(result))),
  );
}

/** Per case, the ratio of the platform to each contender; above 1 the platform is faster. */
export function platformRatios(results: readonly CaseResult[]): string {
  const rows = results.flatMap((result) => {
    const platform = results.find((each) => each.case === result.case && each.contender === 'sluice');
    if (!platform || platform === result) return [];
    const total = platform.tokensPerSecond / result.tokensPerSecond;
    const decode = platform.decodeTokensPerSecond / result.decodeTokensPerSecond;
    const first = platform.firstTokenP50Ms - result.firstTokenP50Ms;
    return [[`${result.case} / ${result.contender}`, `${ratio(total)}×`, `${ratio(decode)}×`, formatNumber(first)]];
  });
  return formatTable(['sluice against', 'tokens/s', 'decode', 'first token, extra ms'], rows);
}

const ratio = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : '–');
