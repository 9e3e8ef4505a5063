import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/*
 * Contents of the home folder:
 *
 * - `local.lock`: lock of the running instance
 * - `secret.key`: encrypts payloads at rest; without it open jobs are lost
 * - `first-keys.txt`: the keys of the first start, if its output was no terminal
 * - `runtime.json`: while running, the addresses of database and API for the command line
 * - `postgres/`: the embedded database
 * - `artifacts/`: see libs/storage/src/create-store.ts
 * - `models/`, `downloads/`: see libs/model-store/src/layout.ts
 */

export function lockFile(home: string): string {
  return join(home, 'local.lock');
}

export function secretKeyFile(home: string): string {
  return join(home, 'secret.key');
}

export function firstKeysFile(home: string): string {
  return join(home, 'first-keys.txt');
}

export function runtimeFile(home: string): string {
  return join(home, 'runtime.json');
}

export function postgresFolder(home: string): string {
  return join(home, 'postgres');
}

/** Writes a file atomically, readable only by its owner. */
export async function writePrivate(file: string, content: string | Uint8Array): Promise<void> {
  const partial = `${file}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, content, { mode: 0o600, flag: 'wx' });
  await rename(partial, file);
}
