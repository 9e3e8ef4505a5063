import { plainToInstance } from 'class-transformer';
import { validateSync } from '../validation/index.js';
import { readSecretFiles } from './secret-files.js';
import { type Environment, variablesOf, type VariableDescription } from './variable.js';

/** A bad environment; `problems` names every bad variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: string[]) {
    super(`The environment cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Apps that are started with the environment of another, which may still add to it what is not set. */
type ChildConfigs = readonly (new () => object)[];

/**
 * Reads and checks the environment of one app. An empty variable counts as not set. What `children` would stumble
 * over later, started with the same environment, is named at once with all the rest. Throws a `ConfigError`.
 */
export function parseConfig<T extends object>(
  configClass: new () => T,
  environment: Environment,
  children: ChildConfigs = [],
): T {
  const { config, problems } = read(configClass, environment);
  for (const child of children) {
    // What comes from a file reaches a child as the file's name; it reads the file itself.
    const isSet = (variable: string) => environment[variable] || environment[`${variable}_FILE`];
    const wrong = read(child, environment).problems.filter(({ variables }) => variables.some(isSet));
    problems.push(...wrong);
  }
  const told = new Set(problems.map(({ text }) => text));
  if (told.size > 0) throw new ConfigError([...told]);
  return config;
}

interface Problem {
  /** One, or those that do not go together. */
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
    if (variable === undefined) return problemOfSeveral(Object.values(error.constraints ?? {}).join(' '), variables);
    const text = describe(variable, environment[variable.name] || files.values[variable.name]);
    return { variables: [variable.name], text };
  });
  // A file that cannot be read leaves its variable unset; that would be told twice.
  const unread = files.problems.map(({ variable, text }) => ({ variables: [variable], text }));
  const told = new Set(files.problems.map(({ variable }) => variable));
  return {
    config,
    problems: [...unread, ...problems.filter(({ variables: of }) => !of.some((name) => told.has(name)))],
  };
}

/** What is wrong with variables together is said of them by name. */
function problemOfSeveral(text: string, variables: readonly VariableDescription[]): Problem {
  const words = new Set(text.match(/[A-Z][A-Z0-9_]+/g));
  return { variables: variables.map(({ name }) => name).filter((name) => words.has(name)), text };
}

function describe(variable: VariableDescription, value: string | undefined): string {
  if (!value) return `${variable.name} is not set; expected ${variable.expected}. ${variable.about}`;
  const shown = variable.secret ? 'a value that is not shown' : JSON.stringify(value);
  return `${variable.name} is ${shown}; expected ${variable.expected}.`;
}

/** The config of this process; a bad environment is told on stderr and ends the process with 1. */
export function loadConfig<T extends object>(configClass: new () => T, children: ChildConfigs = []): T {
  try {
    return parseConfig(configClass, process.env, children);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
