import { ApiConfig } from './api.config.js';
import { CliConfig } from './cli.config.js';
import { LocalConfig } from './local.config.js';
import { OpsConfig } from './ops.config.js';
import { WorkerConfig } from './worker.config.js';
import { variablesOf, type VariableDescription } from './variable.js';

const apps: [name: string, title: string, configClass: new () => object][] = [
  ['local', '`npm start`', LocalConfig],
  ['api', 'api', ApiConfig],
  ['worker', 'worker', WorkerConfig],
  ['ops', 'ops', OpsConfig],
  ['cli', 'cli', CliConfig],
];

const introduction = `# Configuration

Everything is set by environment variables. Each process checks its own at start; a bad environment names every bad
variable with what is expected, and the process ends with 1. An empty variable counts as not set.

A secret can stand in a file instead, as orchestrators hand them out: \`DATABASE_URL_FILE=/run/secrets/database-url\` is
\`DATABASE_URL\` with the contents of that file, less the line end. The same goes for ${secretNames()}.
Setting both is refused.

\`npm start\` gives its children their environment: what you set for it reaches them too, except that the worker never
gets \`DATABASE_URL\`.

This page is written by the config classes in \`libs/platform/src/config\`; a test keeps it true
(\`npx vitest run libs/platform/src/config -u\` writes it anew).
`;

function secretNames(): string {
  const secrets = apps.flatMap(([, , configClass]) => variablesOf(configClass).filter(({ secret }) => secret));
  const names = new Set(secrets.map(({ name }) => name));
  names.delete('DATABASE_URL');
  return [...names]
    .sort()
    .map((name) => `\`${name}\``)
    .join(', ');
}

/** The text of `docs/configuration.md`. */
export function configurationDocument(): string {
  return [introduction, ...apps.map(([, title, configClass]) => section(title, variablesOf(configClass)))].join('\n');
}

function section(title: string, variables: VariableDescription[]): string {
  const rows = [...variables].sort((a, b) => a.name.localeCompare(b.name, 'en')).map(row);
  return [`## ${title}`, '', '| Variable | Expected | Default | What it does |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  );
}

function row(variable: VariableDescription): string {
  const standard = variable.required ? '**required**' : !variable.defaultText ? '' : `\`${variable.defaultText}\``;
  const cells = [`\`${variable.name}\``, variable.expected, standard, variable.about];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
