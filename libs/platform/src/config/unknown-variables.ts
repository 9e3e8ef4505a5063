import { ApiConfig } from './api.config.js';
import { CliConfig } from './cli.config.js';
import { LocalConfig } from './local.config.js';
import { OpsConfig } from './ops.config.js';
import { type Environment, type VariableDescription, variablesOf } from './variable.js';
import { WorkerConfig } from './worker.config.js';
import { nearestNames } from './nearest-names.js';

const prefix = 'SLUICE_';
/**
 * Variables of the project's own tests, the key of the examples of the documentation, and those that Kubernetes sets for
 * each Service of the namespace.
 */
const notOurs = /^SLUICE_(TEST_|ADMIN_KEY$)|_SERVICE_(HOST|PORT)|_PORT$|_PORT_\d+_(TCP|UDP)/;

/** Without their prefix, read by `docker/compose.yaml`, whose env file also reaches the containers; the variable of a process in its place. */
const ofCompose = new Map([
  ['PORT', 'PORT'],
  ['BIND', 'HOST'],
  ['ENV_FILE', null],
]);

/** Lines for who starts a process on this machine with variables that only `docker/compose.yaml` reads. */
export function aboutComposeVariables(environment: Environment): string[] {
  return [...ofCompose].flatMap(([word, instead]) => {
    const name = `${prefix}${word}`;
    const value = environment[name];
    // Kubernetes sets that of the port to a URL for a Service named sluice.
    if (!value || value.includes('://')) return [];
    const hint = instead === null ? '' : ` Set ${instead} instead.`;
    return [`${name} is set, but only docker/compose.yaml reads it.${hint}`];
  });
}

/** The `SLUICE_…` variables that no process reads, such as misspelled ones. */
export function unknownVariables(environment: Environment): string[] {
  const known = knownNames();
  return Object.keys(environment).filter(
    (name) =>
      name.startsWith(prefix) &&
      environment[name] &&
      !known.has(name) &&
      !ofCompose.has(name.slice(prefix.length)) &&
      !notOurs.test(name),
  );
}

/** One line for an operator about a variable that no process reads. */
export function aboutUnknownVariable(name: string): string {
  const [nearest] = nearestNames(name, knownNames());
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  return `${name} is set, but no process reads it.${hint}`;
}

/** The variables of any process that hold a secret. */
export function secretNames(): string[] {
  return variables().flatMap(({ name, secret }) => (secret ? [name] : []));
}

function knownNames(): Set<string> {
  return new Set(variables().flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name])));
}

function variables(): VariableDescription[] {
  return [LocalConfig, ApiConfig, WorkerConfig, OpsConfig, CliConfig].flatMap((config) => [...variablesOf(config)]);
}
