import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * One option of a bench: a number or string with such a `default`; a string or null with only a placeholder; otherwise
 * a switch.
 */
export interface BenchOption {
  /** Text for `--help`; the default is appended. */
  about: string;
  /** Placeholder of the value in `--help`, such as `N` or `DIR`. */
  value?: string;
  default?: number | string;
  /** May be repeated; the value is a list. */
  isRepeated?: true;
}

export type BenchOptions = Record<string, BenchOption>;

type ValueOf<Option extends BenchOption> = Option extends { isRepeated: true }
  ? string[]
  : Option extends { default: number }
    ? number
    : Option extends { default: string }
      ? string
      : Option extends { value: string }
        ? string | null
        : boolean;

export type BenchValues<Options extends BenchOptions> = { [Name in keyof Options]: ValueOf<Options[Name]> };

export const roundsOption = { value: 'N', about: 'measured rounds', default: 5 };
export const jsonOption = { value: 'PATH', about: 'also write the report there' };
export const homeOption = {
  value: 'DIR',
  about: 'folder for weights, reused between runs',
  default: join(homedir(), '.cache', 'sluice-test'),
};

/** Options of every bench on real models. */
export const modelBenchOptions = {
  rounds: roundsOption,
  threads: { value: 'N', about: 'threads of every model', default: 2 },
  home: homeOption,
  json: jsonOption,
};

/** Parses the command line of a bench. With `--help`, prints `about` and all options and exits. */
export function benchOptions<const Options extends BenchOptions>(
  about: string,
  options: Options,
): BenchValues<Options> {
  const values = parseBenchOptions(options, process.argv.slice(2));
  if (values !== null) return values;
  process.stdout.write(benchHelp(about, options));
  process.exit(0);
}

/** Returns null for `--help`. Throws for an unknown option or an invalid number. */
export function parseBenchOptions<const Options extends BenchOptions>(
  options: Options,
  args: string[],
): BenchValues<Options> | null {
  const kinds = Object.entries<BenchOption>(options).map(([name, { value, isRepeated = false }]) => {
    return [name, { type: value === undefined ? 'boolean' : 'string', multiple: isRepeated } as const] as const;
  });
  const { values } = parseArgs({ args, options: { ...Object.fromEntries(kinds), help: { type: 'boolean' } } });
  const given: Record<string, unknown> = values;
  if (given.help === true) return null;
  const read = Object.entries<BenchOption>(options).map(([name, option]) => [name, valueOf(name, option, given[name])]);
  return Object.fromEntries(read) as BenchValues<Options>;
}

function valueOf(name: string, option: BenchOption, given: unknown): unknown {
  if (option.isRepeated) return given ?? [];
  if (option.value === undefined) return given ?? false;
  if (typeof option.default !== 'number') return given ?? option.default ?? null;
  const number = Number(given ?? option.default);
  if (given === '' || !Number.isFinite(number)) throw new Error(`--${name} takes a number, not "${String(given)}".`);
  return number;
}

export function benchHelp(about: string, options: BenchOptions): string {
  const rows = Object.entries(options).map(([name, { value, about: text, default: usual = '' }]) => {
    return { flag: ['--' + name, value].join(' ').trim(), text: usual === '' ? text : `${text}, default ${usual}` };
  });
  const width = Math.max(...rows.map(({ flag }) => flag.length));
  const lines = rows.map(({ flag, text }) => `  ${flag.padEnd(width)}   ${text}\n`);
  return `${about.trimEnd()}\n\n${lines.join('')}`;
}
