import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { variablesOf, type VariableDescription } from './variable.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A bad environment; `problems` names every bad variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: string[]) {
    super(`The environment cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Reads and checks the environment of one app. An empty variable counts as not set. Throws a `ConfigError`. */
export function parseConfig<T extends object>(configClass: new () => T, environment: Environment): T {
  const variables = variablesOf(configClass);
  const plain: Record<string, string> = {};
  for (const variable of variables) {
    const value = environment[variable.name] || variable.defaultText;
    if (value !== null && value !== undefined) plain[variable.property] = value;
  }
  const config = plainToInstance(configClass, plain);
  const problems = validateSync(config).map((error) => {
    const variable = variables.find((candidate) => candidate.property === error.property);
    return variable ? describe(variable, environment) : Object.values(error.constraints ?? {}).join(' ');
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function describe(variable: VariableDescription, environment: Environment): string {
  const value = environment[variable.name];
  if (!value) return `${variable.name} is not set; expected ${variable.expected}. ${variable.about}`;
  const shown = variable.secret ? 'a value that is not shown' : JSON.stringify(value);
  return `${variable.name} is ${shown}; expected ${variable.expected}.`;
}

/** The config of this process; a bad environment is told on stderr and ends the process with 1. */
export function loadConfig<T extends object>(configClass: new () => T, environment: Environment = process.env): T {
  try {
    return parseConfig(configClass, environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
