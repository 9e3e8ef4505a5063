import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';

/*
 * Shared by all benches: subjects run interleaved, round by round, so that noise affects all of them. Figures are
 * medians over the rounds. The report is printed as a table and as JSON.
 */

/** Figures of one run by name, including the unit: `pickupP50Ms`, `jobsPerSecond`. */
export type Figures = Record<string, number>;

export interface BenchSubject {
  readonly name: string;
  /** Called once before the first round; not measured. */
  prepare?(): Promise<void>;
  /** One measured run. */
  run(round: number): Promise<Figures>;
  /** Called once after the last round, also after an error. */
  close?(): Promise<void>;
}

export interface RoundsOptions {
  /** Measured rounds; medians need at least 5. */
  readonly rounds: number;
  /** Warm-up runs of each subject. */
  readonly warmups: number;
  readonly onProgress?: (line: string) => void;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export interface BenchSubjectResult {
  name: string;
  rounds: number;
  figures: Record<string, Spread>;
}

/** Runs the subjects in turn; each round starts with another one. */
export async function runInterleaved(
  subjects: readonly BenchSubject[],
  { rounds, warmups, onProgress = () => undefined }: RoundsOptions,
): Promise<BenchSubjectResult[]> {
  const runs = new Map<string, Figures[]>(subjects.map(({ name }) => [name, []]));
  try {
    for (const subject of subjects) await subject.prepare?.();
    for (let round = -warmups; round < rounds; round += 1) {
      for (const subject of rotate(subjects, Math.abs(round))) {
        const figures = await subject.run(round);
        onProgress(`${round < 0 ? 'warm-up' : `round ${round + 1}/${rounds}`}: ${subject.name}`);
        if (round >= 0) runs.get(subject.name)?.push(figures);
      }
    }
  } finally {
    for (const subject of subjects) await subject.close?.();
  }
  return [...runs].map(([name, figures]) => ({ name, rounds: figures.length, figures: spreads(figures) }));
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const start = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

function spreads(runs: readonly Figures[]): Record<string, Spread> {
  const names = [...new Set(runs.flatMap((figures) => Object.keys(figures)))];
  const valuesOf = (name: string) => runs.map((figures) => figures[name]).filter((value) => value !== undefined);
  return Object.fromEntries(names.map((name) => [name, spreadOf(valuesOf(name))]));
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Percentile (0 to 100), interpolated linearly between ranks; NaN without values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  const rank = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(rank)] ?? Number.NaN;
  const above = sorted[Math.ceil(rank)] ?? Number.NaN;
  return below + (above - below) * (rank - Math.floor(rank));
}

/** Median of one figure of one subject; NaN when there is none. */
export function medianOf(results: readonly BenchSubjectResult[], name: string, figure: string): number {
  return results.find((result) => result.name === name)?.figures[figure]?.median ?? Number.NaN;
}

export interface Ratio {
  /** Label, such as `sluice on Redis / raw BullMQ on Redis, jobsPerSecond`. */
  name: string;
  value: number;
  /** Target: a minimum, or a maximum with `isLimit`. */
  aim: number | null;
  isLimit?: boolean;
}

export interface Report {
  bench: string;
  startedAt: string;
  machine: { cpu: string; cores: number; memoryGiB: number; node: string; platform: string };
  settings: Record<string, string | number | boolean>;
  results: BenchSubjectResult[];
  ratios: Ratio[];
}

export function machineFacts(): Report['machine'] {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
}

export interface Bench {
  name: string;
  settings: Report['settings'];
  subjects: readonly BenchSubject[];
  rounds: number;
  ratiosOf: (results: readonly BenchSubjectResult[]) => Ratio[];
  json: string | null;
}

/** Runs a whole bench after a warm-up: rounds with progress on stderr, then the report, which it returns. */
export async function runBench({ name, settings, subjects, rounds, ratiosOf, json }: Bench): Promise<Report> {
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const results = await runInterleaved(subjects, { rounds, warmups: 1, onProgress });
  const startedAt = new Date().toISOString();
  const ratios = ratiosOf(results);
  const report: Report = { bench: name, startedAt, machine: machineFacts(), settings, results, ratios };
  await publish(report, json);
  return report;
}

/** Prints the report as tables, and writes it as JSON if a path is given. */
export async function publish(report: Report, jsonPath: string | null): Promise<void> {
  process.stdout.write(`${formatReport(report)}\n`);
  if (jsonPath !== null) await writeFile(jsonPath, `${JSON.stringify(report, null, 2)}\n`);
}

export function formatReport({ bench, machine, settings, results, ratios }: Report): string {
  const figures = [...new Set(results.flatMap((result) => Object.keys(result.figures)))];
  const rows = results.map(({ name, figures: of }) => [
    name,
    ...figures.map((figure) => formatNumber(of[figure]?.median)),
  ]);
  const table = formatTable(['', ...figures], rows);
  const ratioRows = ratios.map(({ name, value, aim, isLimit }) => [
    name,
    formatNumber(value),
    aim === null ? '' : `${isLimit ? '≤' : '≥'} ${aim}`,
  ]);
  const stated = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  const head = `${bench}: medians of ${results[0]?.rounds ?? 0} rounds; ${machine.cores} × ${machine.cpu}, Node ${machine.node}`;
  const ratioTable = ratios.length === 0 ? [] : ['', formatTable(['ratio', 'value', 'aim'], ratioRows)];
  return [head, stated.join(', '), '', table, ...ratioTable].join('\n');
}

/**
 * Formats a Markdown table whose columns also align in a terminal: the first left-aligned, the others right-aligned.
 */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0), 3));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => pad(cells[column] ?? '', width, column > 0)).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column > 0 ? `${'-'.repeat(width + 1)}:` : '-'.repeat(width + 2))).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function pad(cell: string, width: number, right: boolean): string {
  return right ? cell.padStart(width) : cell.padEnd(width);
}

/** Three significant digits; whole numbers from 100 on. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}
