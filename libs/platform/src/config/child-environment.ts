import { BaseConfig, type LogLevel } from './base.config.js';
import { loadConfig } from './load-config.js';

/**
 * The environment of a child process: ours over `defaults`, and `overrides` over both; null takes a variable away, and
 * with it the file that holds it. A worker must not inherit the password of the database, for example.
 */
export function childEnvironment(
  overrides: Record<string, string | null> = {},
  defaults: Record<string, string> = {},
): NodeJS.ProcessEnv {
  const set = Object.entries(process.env).filter(([, value]) => value !== '');
  const environment: NodeJS.ProcessEnv = { ...defaults, ...Object.fromEntries(set) };
  for (const [name, value] of Object.entries(overrides)) {
    delete environment[`${name}_FILE`];
    if (value === null) delete environment[name];
    else environment[name] = value;
  }
  return environment;
}

/** `LOG_LEVEL`, for loggers that are made before an app has its config. */
export function logLevelOfEnvironment(): LogLevel {
  return loadConfig(BaseConfig).logLevel;
}

/** The environment of a tool that is given foreign files: where programs are, and nothing else of ours. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  const { PATH, LD_LIBRARY_PATH } = process.env;
  return { LC_ALL: 'C', ...(PATH ? { PATH } : {}), ...(LD_LIBRARY_PATH ? { LD_LIBRARY_PATH } : {}) };
}
