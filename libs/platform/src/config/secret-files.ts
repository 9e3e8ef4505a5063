import { readFileSync } from 'node:fs';
import { errorText } from '#common/values';
import type { Environment, VariableDescription } from './variable.js';

/** Values of the files that `<VARIABLE>_FILE` variables name; `problems` lists unusable ones. */
export interface SecretFiles {
  values: Record<string, string>;
  problems: { variable: string; text: string }[];
}

/**
 * Loads secrets from files, as orchestrators provide them: `DATABASE_URL_FILE` names a file whose contents, without the
 * trailing newline, are `DATABASE_URL`. Only secret variables have a `_FILE` variant. Values are never printed.
 */
export function readSecretFiles(variables: readonly VariableDescription[], environment: Environment): SecretFiles {
  const found: SecretFiles = { values: {}, problems: [] };
  for (const { name, secret } of variables) {
    const path = secret ? environment[`${name}_FILE`] : undefined;
    if (!path) continue;
    try {
      found.values[name] = readSecret(path, Boolean(environment[name]));
    } catch (error) {
      const reason = errorText(error);
      found.problems.push({ variable: name, text: `${name}_FILE cannot be used: ${reason}.` });
    }
  }
  return found;
}

function readSecret(path: string, isSetToo: boolean): string {
  if (isSetToo) throw new Error('only one of the variable and its _FILE variant may be set');
  const value = readText(path).trimEnd();
  if (!value) throw new Error(`${path} is empty`);
  return value;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${path} cannot be read (${code ?? 'unknown'})`, { cause: error });
  }
}
