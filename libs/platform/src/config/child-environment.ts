import { BaseConfig, type LogLevel } from './base.config.js';
import { loadConfig } from './load-config.js';

/**
 * The environment of a child process: ours with `overrides`; null takes a variable away. A worker's child must not
 * inherit the database's password, for example.
 */
export function childEnvironment(overrides: Record<string, string | null> = {}): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { ...process.env };
  for (const [name, value] of Object.entries(overrides)) {
    if (value === null) delete environment[name];
    else environment[name] = value;
  }
  return environment;
}

/** `LOG_LEVEL`, for loggers that are made before an app has its config. */
export function logLevelOfEnvironment(): LogLevel {
  return loadConfig(BaseConfig).logLevel;
}
