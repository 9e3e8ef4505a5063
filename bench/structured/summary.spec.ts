import { describe, expect, it } from 'vitest';
import { machineFacts, type Report, spreadOf } from '../report.js';
import { formatSummary } from './summary.js';

function reportOf(model: string, figures: Record<string, Record<string, number>>): Report {
  const results = Object.entries(figures).map(([name, of]) => ({
    name,
    rounds: 1,
    figures: Object.fromEntries(Object.entries(of).map(([figure, value]) => [figure, spreadOf([value])])),
  }));
  return { bench: 'structured', startedAt: '', machine: machineFacts(), settings: { model }, results, ratios: [] };
}

describe('the table of the bench "structured"', () => {
  it('has what a schema costs each model, and leaves out peers that did not run', () => {
    const engine = {
      'any text, greedy': { decodeTokensPerSecond: 200 },
      'schema, greedy': { decodeTokensPerSecond: 196 },
      'first token, any text': { firstTokenMs: 10 },
      'first token, cached schema': { firstTokenMs: 12 },
      'first token, new schema': { firstTokenMs: 40 },
      'matcher, sluice': { compileMs: 28, maskUs: 5 },
    };
    const table = formatSummary([
      reportOf('small', engine),
      reportOf('large', {
        'llama.cpp, any text': { decodeTokensPerSecond: 50 },
        'llama.cpp, grammar': { decodeTokensPerSecond: 40 },
        'matcher, web-xgrammar': { compileMs: 2_000, maskUs: 120 },
      }),
    ]);
    const rows = table
      .split('\n')
      .slice(2)
      .map((line) => line.split('|').map((cell) => cell.trim()));
    expect(rows.map((cells) => cells.slice(1, -1))).toEqual([
      ['small, greedy', '200', '196', '0.98', '2', '30', '28', '5'],
      ['large, llama.cpp', '50', '40', '0.8', '–', '–', '–', '–'],
      ['large, web-xgrammar', '–', '–', '–', '–', '–', '2,000', '120'],
    ]);
  });
});
