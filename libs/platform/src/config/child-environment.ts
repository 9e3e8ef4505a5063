import { BaseConfig, type LogLevel } from './base.config.js';
import { loadConfig } from './load-config.js';
import { secretNames, unknownVariables } from './unknown-variables.js';

/**
 * Builds the environment of a child process: this process's environment over `defaults`, then `overrides`. Null removes
 * a variable and its `_FILE` variant, so that a worker does not inherit the database password, for example. Variables
 * that no process reads are left out: this process has warned of them.
 */
export function childEnvironment(
  overrides: Record<string, string | null> = {},
  defaults: Record<string, string> = {},
): NodeJS.ProcessEnv {
  const set = Object.entries(process.env).filter(([, value]) => value !== '');
  const environment: NodeJS.ProcessEnv = { ...defaults, ...Object.fromEntries(set) };
  for (const name of unknownVariables(environment)) delete environment[name];
  for (const [name, value] of Object.entries(overrides)) {
    delete environment[`${name}_FILE`];
    if (value === null) delete environment[name];
    else environment[name] = value;
  }
  return environment;
}

/**
 * Builds the environment of a child that opens files of others: that of `childEnvironment` without the secrets of any
 * process, and without what clients of PostgreSQL and of storage read by themselves. `kept` names secrets that it needs.
 */
export function environmentWithoutSecrets(
  overrides: Record<string, string | null> = {},
  { kept = [], defaults }: { kept?: readonly string[]; defaults?: Record<string, string> } = {},
): NodeJS.ProcessEnv {
  const ofLibraries = Object.keys(process.env).filter((name) => name.startsWith('AWS_'));
  const secrets = [...secretNames(), ...ofLibraries, 'PGPASSWORD', 'PGPASSFILE'].filter((name) => !kept.includes(name));
  return childEnvironment({ ...Object.fromEntries(secrets.map((name) => [name, null])), ...overrides }, defaults);
}

/** Returns `LOG_LEVEL`, for loggers created before the configuration is loaded. */
export function logLevelOfEnvironment(): LogLevel {
  return loadConfig(BaseConfig).logLevel;
}

/** Environment of a tool that processes untrusted files: the program search path and nothing else. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  const { PATH, LD_LIBRARY_PATH } = process.env;
  return { LC_ALL: 'C', ...(PATH ? { PATH } : {}), ...(LD_LIBRARY_PATH ? { LD_LIBRARY_PATH } : {}) };
}
