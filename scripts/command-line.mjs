// The command lines of scripts, benches and the programs of test/: one way to declare options, `--help` and errors.
// Plain JavaScript, because scripts run before anything is installed or built.
import { parseArgs } from 'node:util';

/** The command line cannot be run as it is; the message names the option. */
export class CommandLineError extends Error {}

/**
 * Parses the command line of this process. With `--help`, prints `about` and all options and exits; a command line that
 * it does not know ends the process with 2 and one line that names the option.
 */
export function readCommandLine(about, options = {}, wordOptions) {
  try {
    const parsed = parseCommandLine(options, process.argv.slice(2), wordOptions);
    if (parsed !== null) return parsed;
    process.stdout.write(commandHelp(about, options));
    process.exit(0);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    process.stderr.write(`${error.message} --help lists the options.\n`);
    process.exit(2);
  }
}

/** Returns null for `--help`. Throws a `CommandLineError` for an unknown option or word, or an invalid number. */
export function parseCommandLine(options, args, wordOptions) {
  const kinds = Object.entries(options).map(([name, { value, isRepeated = false }]) => [
    name,
    { type: value === undefined ? 'boolean' : 'string', multiple: isRepeated },
  ]);
  const { values, positionals: words } = parse({
    args,
    options: { ...Object.fromEntries(kinds), help: { type: 'boolean' } },
    allowPositionals: wordOptions !== undefined,
  });
  if (values.help === true) return null;
  const { known, name: noun = 'argument' } = wordOptions ?? {};
  const unknown = known === undefined ? [] : words.filter((word) => !known.includes(word));
  if (unknown.length > 0) {
    throw new CommandLineError(`Unknown ${noun} ${unknown.join(', ')}; expected ${known.join(', ')}.`);
  }
  const read = Object.entries(options).map(([name, option]) => [name, valueOf(name, option, values[name])]);
  return { values: Object.fromEntries(read), words };
}

function parse(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    // What follows the first sentence is advice about arguments that begin with a dash.
    throw new CommandLineError(error.message.replace(/\. .*$/s, '').replace(/\.?$/, '.'));
  }
}

function valueOf(name, option, given) {
  if (option.isRepeated) return given ?? option.default ?? [];
  if (option.value === undefined) return given ?? false;
  if (typeof option.default !== 'number' && !option.isNumber) return given ?? option.default ?? null;
  if (given === undefined) return option.default ?? null;
  const number = Number(given);
  if (given.trim() !== '' && Number.isFinite(number)) return number;
  throw new CommandLineError(`--${name} takes a number, not "${given}".`);
}

export function commandHelp(about, options) {
  const rows = [...Object.entries(options), ['help', { about: 'prints this' }]].map(([name, option]) => {
    const { value, about: text, default: usual = '' } = option;
    const shown = [usual].flat().join(', ');
    return { flag: ['--' + name, value].join(' ').trim(), text: shown === '' ? text : `${text}, default ${shown}` };
  });
  const width = Math.max(...rows.map(({ flag }) => flag.length));
  const lines = rows.map(({ flag, text }) => `  ${flag.padEnd(width)}   ${text}\n`);
  return `${about.trimEnd()}\n\n${lines.join('')}`;
}
