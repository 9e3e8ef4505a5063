import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export interface MediaSettings {
  rounds: number;
  threads: number;
  home: string;
  json: string | null;
}

/** What the benches of media take from the command line; prints `about` and ends where help is wanted. */
export function mediaSettings(about: string): MediaSettings {
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

/** A picture that no two places of are alike, RGB. */
export function patterned(width: number, height: number, shift = 0): Uint8Array {
  return Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3);
    const [x, y] = [(pixel % width) + shift, Math.floor(pixel / width)];
    const disc = Math.hypot(x - width / 2, y - height / 2) < height / 4 ? 90 : 0;
    return (disc + 60 * Math.sin(x / 9 + (at % 3)) + 60 * Math.cos(y / 13) + 128) & 255;
  });
}
