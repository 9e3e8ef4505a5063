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

All settings are environment variables. A process names every invalid one at its start, and exits with code 1. An empty
variable counts as not set. Lists are separated by commas, and variables in \`_MS\` are milliseconds.

Secrets can be read from files: \`DATABASE_URL_FILE=/run/secrets/database-url\`. The same works for ${otherSecrets()}.
Setting both forms is an error.

\`npm start\` passes its environment to its children. Each heading names the processes that read the variables (\`cli\` is
the \`sluice\` command line, \`doctor\` is \`sluice doctor --stores\`); values are in parentheses, with **defaults** in bold.
\`npx vitest run libs/platform/src/config -u\` writes this page.
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
  const titles = new Set(
    entries.toSorted((a, b) => b.processes.length - a.processes.length).map(({ processes }) => titleOf(processes)),
  );
  const sections = [...titles].map((title) => {
    const variables = entries.filter(({ processes }) => titleOf(processes) === title);
    return section(
      title,
      variables.map(({ variable }) => itemOf(variable)),
    );
  });
  return [introduction, ...sections].join('\n');
}

/** Equal for variables that a reader needs to see only once. */
function keyOf({ name, expected, defaultText, required, about }: VariableDescription): string {
  return JSON.stringify([name, expected, defaultText, required, about]);
}

function titleOf(processes: readonly string[]): string {
  return processes.length === apps.length ? 'All processes' : processes.join(', ');
}

function section(title: string, items: readonly string[]): string {
  return [`## ${title}`, '', ...items, ''].join('\n');
}

/** Shorter forms of expected values, for the page. */
const shortForms: readonly [RegExp, string][] = [
  [/^a (?:whole )?number from (\d+) to (\d+)/, '$1–$2'],
  [/^true or false$/, 'boolean'],
  [/^one of /, ''],
  [/^words separated by commas,?/, 'list'],
  [/,? separated by commas/, ''],
  [/^an http or https URL$/, 'URL'],
  [/^an? (?=[a-zA-Z])/, ''],
  [/^URL such as /, ''],
  [/^(host name) or address$/, '$1'],
  [/ \(32 bytes\), as (`[^`]+`) prints them$/, ' ($1)'],
];

function itemOf(variable: VariableDescription): string {
  let value = variable.expected;
  for (const [long, short] of shortForms) value = value.replace(long, short);
  if (variable.required) value += '; **required**';
  else if (variable.defaultText) value += `; **\`${variable.defaultText}\`**`;
  return `- \`${variable.name}\` (${value}): ${variable.about}`;
}
