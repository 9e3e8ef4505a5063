import { plainToInstance } from 'class-transformer';
import { validateSync } from '../validation/index.js';
import { readSecretFiles } from './secret-files.js';
import { aboutComposeVariables, aboutUnknownVariable, unknownVariables } from './unknown-variables.js';
import { type Environment, variablesOf, type VariableDescription } from './variable.js';

/** Configuration error; `problems` describes every invalid variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: string[]) {
    super(`The environment cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Apps that are started with this process's environment, to which it may add unset variables. */
type ChildConfigs = readonly (new () => object)[];

/**
 * Loads and validates the environment of one app. An empty variable counts as not set. Problems of `children`, which
 * get the same environment, are reported at once. Throws a `ConfigError`.
 */
export function parseConfig<T extends object>(
  configClass: new () => T,
  environment: Environment,
  children: ChildConfigs = [],
): T {
  const { config, problems } = read(configClass, environment);
  for (const child of children) {
    // A child gets the file name and reads the secret itself.
    const isSet = (variable: string) => environment[variable] || environment[`${variable}_FILE`];
    const wrong = read(child, environment).problems.filter(({ variables }) => variables.some(isSet));
    problems.push(...wrong);
  }
  const reported = new Set(problems.map(({ text }) => text));
  if (reported.size > 0) throw new ConfigError([...reported]);
  return config;
}

interface Problem {
  /** One variable, or several that are inconsistent. */
  variables: string[];
  text: string;
}

function read<T extends object>(
  configClass: new () => T,
  environment: Environment,
): { config: T; problems: Problem[] } {
  const variables = variablesOf(configClass);
  const files = readSecretFiles(variables, environment);
  const plain: Record<string, string> = {};
  for (const variable of variables) {
    const value = files.values[variable.name] ?? (environment[variable.name] || variable.defaultText);
    if (value !== null && value !== undefined) plain[variable.property] = value;
  }
  const config = plainToInstance(configClass, plain);
  const problems = validateSync(config).map((error) => {
    const variable = variables.find((candidate) => candidate.property === error.property);
    if (variable === undefined) return findJointProblem(Object.values(error.constraints ?? {}).join(' '), variables);
    const text = describe(variable, environment[variable.name] || files.values[variable.name]);
    return { variables: [variable.name], text };
  });
  // An unreadable file leaves its variable unset, which would be reported twice.
  const unread = files.problems.map(({ variable, text }) => ({ variables: [variable], text }));
  const reported = new Set(files.problems.map(({ variable }) => variable));
  return {
    config,
    problems: [...unread, ...problems.filter(({ variables: of }) => !of.some((name) => reported.has(name)))],
  };
}

/** Errors that involve several variables name all of them. */
function findJointProblem(text: string, variables: readonly VariableDescription[]): Problem {
  const words = new Set(text.match(/[A-Z][A-Z0-9_]+/g));
  return { variables: variables.map(({ name }) => name).filter((name) => words.has(name)), text };
}

function describe(variable: VariableDescription, value: string | undefined): string {
  if (!value) return `${variable.name} is not set; expected ${variable.expected}. ${variable.about}`;
  const shown = variable.secret ? 'a value that is not shown' : JSON.stringify(value);
  return `${variable.name} is ${shown}; expected ${variable.expected}.`;
}

const warnedOf = new Set<string>();

/** Warns on stderr of variables that only `docker/compose.yaml` reads. For processes that never run in its containers. */
export function warnOfComposeVariables(): void {
  for (const text of aboutComposeVariables(process.env)) process.stderr.write(`warning: ${text}\n`);
}

/**
 * Returns the configuration of this process. If it is invalid, prints the problems to stderr and exits with 1. Warns
 * there, once, of each `SLUICE_…` variable that no process reads.
 */
export function loadConfig<T extends object>(configClass: new () => T, children: ChildConfigs = []): T {
  // Asks the PostgreSQL driver for an addon that is not installed.
  delete process.env.NODE_PG_FORCE_NATIVE;
  for (const name of unknownVariables(process.env)) {
    if (!warnedOf.has(name)) process.stderr.write(`warning: ${aboutUnknownVariable(name)}\n`);
    warnedOf.add(name);
  }
  try {
    return parseConfig(configClass, process.env, children);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
