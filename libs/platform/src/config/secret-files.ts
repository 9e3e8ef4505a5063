import { readFileSync } from 'node:fs';
import type { Environment, VariableDescription } from './variable.js';

/** What stood in the files that `<VARIABLE>_FILE` names; `problems` names those that cannot be used. */
export interface SecretFiles {
  values: Record<string, string>;
  problems: { variable: string; text: string }[];
}

/**
 * Secrets as orchestrators hand them out: `DATABASE_URL_FILE` names a file whose contents, less the line end, are the
 * value of `DATABASE_URL`. Only variables that are secrets have such a twin. Nothing that was read is ever told.
 */
export function readSecretFiles(variables: readonly VariableDescription[], environment: Environment): SecretFiles {
  const found: SecretFiles = { values: {}, problems: [] };
  for (const { name, secret } of variables) {
    const path = secret ? environment[`${name}_FILE`] : undefined;
    if (!path) continue;
    try {
      found.values[name] = readSecret(path, Boolean(environment[name]));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      found.problems.push({ variable: name, text: `${name}_FILE cannot be used: ${reason}.` });
    }
  }
  return found;
}

function readSecret(path: string, isSetToo: boolean): string {
  if (isSetToo) throw new Error('the variable without _FILE is set too, and only one of them may be');
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
