import { ApiConfig } from './api.config.js';
import { CliConfig } from './cli.config.js';
import { LocalConfig } from './local.config.js';
import { OpsConfig } from './ops.config.js';
import { WorkerConfig } from './worker.config.js';
import { StoresConfig } from './stores.config.js';
import { secretNames } from './unknown-variables.js';
import { variablesOf, type VariableDescription } from './variable.js';

const apps: [name: string, title: string, configClass: new () => object][] = [
  ['local', '`npm start`', LocalConfig],
  ['api', 'api', ApiConfig],
  ['worker', 'worker', WorkerConfig],
  ['ops', 'ops', OpsConfig],
  ['cli', 'cli', CliConfig],
  ['doctor', 'doctor', StoresConfig],
];

const introduction = `# Configuration

All settings are environment variables. Each process validates its own at start and exits with code 1 if any is invalid; the
message names every invalid variable and what is expected. An empty variable counts as not set.

Secrets can be read from files: \`DATABASE_URL_FILE=/run/secrets/database-url\` sets \`DATABASE_URL\` to the contents of that
file, without the trailing newline. The same works for ${otherSecrets()}. Setting both forms is an error.

\`npm start\` passes its environment to its children, except that the worker never gets \`DATABASE_URL\`. The first table lists
the variables that several processes read (\`cli\` is the \`sluice\` command line, \`doctor\` its command \`sluice doctor --stores\`), the others those of one process.

This page is generated from the config classes in \`libs/platform/src/config\`
(\`npx vitest run libs/platform/src/config -u\` writes it).
`;

/** All but that of the example. */
function otherSecrets(): string {
  const names = new Set(secretNames());
  names.delete('DATABASE_URL');
  return [...names]
    .sort()
    .map((name) => `\`${name}\``)
    .join(', ');
}

/** Text of `docs/reference/configuration.md`. Variables with the same meaning in several processes are listed once. */
export function configurationDocument(): string {
  const readers = new Map<string, { variable: VariableDescription; processes: string[] }>();
  for (const [, title, configClass] of apps)
    for (const variable of variablesOf(configClass)) {
      const entry = readers.get(keyOf(variable)) ?? { variable, processes: [] };
      readers.set(keyOf(variable), { variable, processes: [...entry.processes, title] });
    }
  const entries = [...readers.values()].sort((a, b) => a.variable.name.localeCompare(b.variable.name, 'en'));
  const shared = entries.filter(({ processes }) => processes.length > 1);
  const own = (title: string) => entries.filter(({ processes }) => processes.length === 1 && processes[0] === title);
  const sections = apps
    .map(([, title]) => ({ title, rows: own(title).map(({ variable }) => cellsOf(variable)) }))
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => section(title, ['Variable'], rows));
  return [
    introduction,
    section('Several processes', ['Variable', 'Read by'], shared.map(sharedCells)),
    ...sections,
  ].join('\n');
}

/** Equal for variables that a reader needs to see only once. */
function keyOf({ name, expected, defaultText, required, about }: VariableDescription): string {
  return JSON.stringify([name, expected, defaultText, required, about]);
}

function sharedCells({ variable, processes }: { variable: VariableDescription; processes: string[] }): string[] {
  const [name = '', ...rest] = cellsOf(variable);
  return [name, processes.length === apps.length ? 'all' : processes.join(', '), ...rest];
}

function section(title: string, firstColumns: string[], rows: string[][]): string {
  const columns = [...firstColumns, 'Expected', 'Default', 'Description'];
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [`## ${title}`, '', ...lines, ''].join('\n');
}

function cellsOf(variable: VariableDescription): string[] {
  const standard = variable.required ? '**required**' : !variable.defaultText ? '' : `\`${variable.defaultText}\``;
  const expected = variable.expected.replace(/^a whole number from (\d+)/, '$1');
  const cells = [`\`${variable.name}\``, expected, standard, variable.about];
  return cells.map((cell) => cell.replaceAll('|', '\\|'));
}
