import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export interface BenchSettings {
  rounds: number;
  threads: number;
  home: string;
  json: string | null;
}

/** What most benches take from the command line; prints `about` and ends where help is wanted. */
export function benchSettings(about: string): BenchSettings {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      threads: { type: 'string', default: '2' },
      home: { type: 'string', default: join(homedir(), '.cache', 'sluice-test') },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${about}
  --rounds N     measured rounds, default 5
  --threads N    threads of every model, default 2
  --home DIR     keeps weights between runs, default ~/.cache/sluice-test
  --json PATH    also write the report there
`);
    process.exit(0);
  }
  const { rounds, threads, home, json } = values;
  return { rounds: Number(rounds), threads: Number(threads), home, json: json ?? null };
}
