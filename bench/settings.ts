import { homedir } from 'node:os';
import { join } from 'node:path';
import { type CommandOptions, type CommandValues, readCommandLine } from '#command-line';

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
export function benchOptions<const Options extends CommandOptions>(
  about: string,
  options: Options,
): CommandValues<Options> {
  return readCommandLine(about, options).values;
}
