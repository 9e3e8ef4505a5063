import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export interface BenchSettings {
  rounds: number;
  threads: number;
  home: string;
  json: string | null;
}

/** A further option of one bench; its value is text. */
export interface BenchOption {
  /** As `--help` tells it, with the placeholder of its value: `N      texts at once`. */
  about: string;
  default: string;
}

/** What most benches take from the command line, and what one takes besides; prints `about` and ends where help is wanted. */
export function benchSettings<Name extends string = never>(
  about: string,
  more: Record<Name, BenchOption> = {} as Record<Name, BenchOption>,
): BenchSettings & { more: Record<Name, string> } {
  const usual = {
    rounds: { about: 'N     measured rounds', default: '5' },
    threads: { about: 'N    threads of every model', default: '2' },
    home: { about: 'DIR     keeps weights between runs', default: join(homedir(), '.cache', 'sluice-test') },
  };
  const all: Record<string, BenchOption> = { ...more, ...usual };
  const options = Object.fromEntries(
    Object.entries(all).map(([name, { default: value }]) => [name, { type: 'string', default: value } as const]),
  );
  const { values } = parseArgs({
    options: { ...options, json: { type: 'string' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    const lines = Object.entries(all).map(([name, option]) => `  --${name} ${option.about}, default ${option.default}`);
    process.stdout.write(`${about}\n${lines.join('\n')}\n  --json PATH    also write the report there\n`);
    process.exit(0);
  }
  const text = (name: string): string => String((values as Record<string, unknown>)[name]);
  const chosen = Object.keys(more).map((name) => [name, text(name)]);
  return {
    rounds: Number(text('rounds')),
    threads: Number(text('threads')),
    home: text('home'),
    json: values.json === undefined ? null : text('json'),
    more: Object.fromEntries(chosen) as Record<Name, string>,
  };
}
