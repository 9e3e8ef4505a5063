import { formatNumber, formatTable, medianOf, type Report } from '../report.js';

/** One table of all models: what a schema costs, here and in the peers. */
export function formatSummary(reports: readonly Report[]): string {
  const rows = reports.flatMap(({ settings: { model }, results }) => {
    const rate = (name: string): number => medianOf(results, name, 'decodeTokensPerSecond');
    const decode = (engine: string, free: string, held: string): string[] => [
      `${model}, ${engine}`,
      formatNumber(rate(free)),
      formatNumber(rate(held)),
      formatNumber(rate(held) / rate(free)),
    ];
    const first = (name: string): number => medianOf(results, `first token, ${name}`, 'firstTokenMs');
    const later = (name: string): string => formatNumber(first(name) - first('any text'));
    const matcher = (name: string): string[] =>
      ['compileMs', 'maskUs'].map((figure) => formatNumber(medianOf(results, `matcher, ${name}`, figure)));
    const none = '–';
    return [
      [
        ...decode('greedy', 'any text, greedy', 'schema, greedy'),
        later('cached schema'),
        later('new schema'),
        ...matcher('sluice'),
      ],
      [...decode('sampled', 'any text, sampled', 'schema, sampled'), none, none, none, none],
      [...decode('llama.cpp', 'llama.cpp, any text', 'llama.cpp, grammar'), none, none, none, none],
      [`${model}, web-xgrammar`, none, none, none, none, none, ...matcher('web-xgrammar')],
    ].filter(([, ...cells]) => cells.some((cell) => cell !== none));
  });
  const head = ['', 'tokens/s', 'with schema', 'ratio', 'first, cached, ms', 'first, new, ms', 'compile ms', 'mask µs'];
  return formatTable(head, rows);
}
