import type { CaseResult } from './run-cases.js';

const megabytes = (bytes: number): string => String(Math.round(bytes / 1024 / 1024));
const figure = (value: number): string => (Number.isFinite(value) ? value.toFixed(value < 100 ? 1 : 0) : '–');

const columns: [title: string, cell: (result: CaseResult) => string][] = [
  ['case', (result) => result.case],
  ['contender', (result) => result.contender],
  ['tokens/s', (result) => figure(result.tokensPerSecond)],
  ['decode tokens/s', (result) => figure(result.decodeTokensPerSecond)],
  ['per stream', (result) => figure(result.perStreamTokensPerSecond)],
  ['first token p50 ms', (result) => figure(result.firstTokenP50Ms)],
  ['p95 ms', (result) => figure(result.firstTokenP95Ms)],
  [
    'lag api / worker / host ms',
    ({ lag }) => (lag ? [lag.apiMs, lag.workerMs, lag.hostMs].map(figure).join(' / ') : ''),
  ],
  ['MB', (result) => megabytes(result.residentBytes)],
];

/** All results as a Markdown table. */
export function resultTable(results: readonly CaseResult[]): string {
  const rows = [
    columns.map(([title]) => title),
    columns.map(([, cell], index) => (index < 2 || cell.length === 0 ? '---' : '---:')),
    ...results.map((result) => columns.map(([, cell]) => cell(result))),
  ];
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Per case, how the platform compares with everybody else: above 1 it is faster. */
export function platformRatios(results: readonly CaseResult[]): string {
  const lines = results.flatMap((result) => {
    const platform = results.find((each) => each.case === result.case && each.contender === 'sluice');
    if (!platform || platform === result) return [];
    const total = platform.tokensPerSecond / result.tokensPerSecond;
    const decode = platform.decodeTokensPerSecond / result.decodeTokensPerSecond;
    const first = platform.firstTokenP50Ms - result.firstTokenP50Ms;
    return `| ${result.case} | ${result.contender} | ${figure(total)}× | ${figure(decode)}× | ${figure(first)} |`;
  });
  const head = [
    '| case | sluice against | tokens/s | decode | first token, ms more |',
    '| --- | --- | ---: | ---: | ---: |',
  ];
  return [...head, ...lines].join('\n');
}
