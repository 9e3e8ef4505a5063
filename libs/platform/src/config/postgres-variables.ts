import type { Environment } from './variable.js';

/** As libpq and the driver read them: defaults of every connection, such as `PGSSLMODE` and `PGOPTIONS`. */
const ofLibpq = /^PG[A-Z_]+$/;

/** Returns the variables that PostgreSQL clients read in addition to a URL. */
export function postgresVariables(environment: Environment): string[] {
  return Object.keys(environment).filter((name) => ofLibpq.test(name) && environment[name]);
}

/**
 * Deletes these variables from the environment of this process and its later children, and returns their names. They
 * are about other databases where this process connects to Sluice's own.
 */
export function forgetPostgresVariables(): string[] {
  const names = postgresVariables(process.env);
  for (const name of names) delete process.env[name];
  return names;
}
