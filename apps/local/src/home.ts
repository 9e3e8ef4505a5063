import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartRefusal } from './start-refusal.js';

/*
 *   <home>/local.lock     the running copy
 *   <home>/secret.key     encrypts payloads at rest; losing it loses the jobs that were open
 *   <home>/runtime.json   while running: where database and api are, for the command line
 *   <home>/postgres/      the embedded database
 *   <home>/models/, downloads/   see libs/model-store/src/layout.ts
 */

/** What the command line finds a running installation by. */
export interface RuntimeFile {
  databaseUrl: string;
  baseUrl: string;
  pid: number;
}

/** Makes the home; only its owner may look into it. Throws a `StartRefusal` for a folder that cannot be ours. */
export async function openHome(home: string): Promise<void> {
  try {
    await mkdir(home, { recursive: true });
    await chmod(home, 0o700);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartRefusal(`${home} cannot be used (${reason}). Choose another: SLUICE_HOME=… npm start`);
  }
}

export function lockFile(home: string): string {
  return join(home, 'local.lock');
}

/** The key of this home, made at its first start. */
export async function readSecretKey(home: string): Promise<string> {
  const file = join(home, 'secret.key');
  try {
    const key = (await readFile(file, 'utf8')).trim();
    if (!/^[0-9a-f]{64}$/i.test(key)) throw new StartRefusal(`${file} does not hold 64 hex digits.`);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = randomBytes(32).toString('hex');
  await writePrivate(file, `${key}\n`);
  return key;
}

export async function writeRuntimeFile(home: string, runtime: RuntimeFile): Promise<void> {
  await writePrivate(join(home, 'runtime.json'), `${JSON.stringify(runtime, null, 2)}\n`);
}

export async function removeRuntimeFile(home: string): Promise<void> {
  await rm(join(home, 'runtime.json'), { force: true });
}

/** Whole or not at all, and readable by its owner alone. */
async function writePrivate(file: string, text: string): Promise<void> {
  const partial = `${file}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, text, { mode: 0o600, flag: 'wx' });
  await rename(partial, file);
}
