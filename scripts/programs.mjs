import { readCommandLine } from './command-line.mjs';

/** One line for each entry of a table of names and what they do. */
export function listNames(entries) {
  const width = Math.max(...Object.keys(entries).map((name) => name.length));
  return Object.entries(entries)
    .map(([name, about]) => `  ${name.padEnd(width)}   ${about}`)
    .join('\n');
}

/**
 * Returns the name that begins the command line, and the arguments behind it. Without a name, or with `--help`, prints
 * the names with one line each and exits; an unknown one ends the process with 2.
 */
export function chooseProgram(usage, entries) {
  const [name = '--help', ...args] = process.argv.slice(2);
  if (Object.hasOwn(entries, name)) return { name, args };
  const about = `${usage}\n\n${listNames(entries)}`;
  if (process.argv.length < 3) process.argv.push('--help');
  const { words } = readCommandLine(about, {}, { name: 'name', known: Object.keys(entries) });
  return { name: words[0], args: words.slice(1) };
}
