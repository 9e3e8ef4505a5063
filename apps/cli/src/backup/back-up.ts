import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type BackupManifest, createBackup, timeInName, verifyBackup } from '#backup';
import { formatBytes } from '#model-store';
import { readProductVersion } from '#platform/process';
import { createArtifactStore } from '#storage';
import type { CliContext } from '../cli-context.js';
import { withDatabase } from './installation.js';
import { readHomeKeys, secretKeyName } from './keys.js';

/** `sluice backup <path>` */
export async function backUp(context: CliContext, path: string, { json }: { json?: boolean }): Promise<void> {
  const { config, signal } = context;
  const file = await fileOf(path);
  const store = createArtifactStore(config.storage);
  try {
    const manifest = await withDatabase(context, (databaseUrl) =>
      createBackup({
        ...{ path: file, databaseUrl, store, signal, version: readProductVersion() },
        homeFiles: (fingerprints) => readHomeKeys(config.home, fingerprints),
        onProgress: (line) => context.note(line),
      }),
    );
    const { size } = await stat(file);
    if (json) context.output.json({ file, bytes: size, ...summaryOf(manifest) });
    else print(context, `${file} (${formatBytes(size)})`, manifest);
    if (keysOf(manifest) === 'none') {
      context.warn(`${secretKeyName} is not in the backup: keep it elsewhere, since a restore needs it.`);
    }
    context.next(`sluice backup --verify ${file}`);
  } finally {
    await store.close();
  }
}

/** `sluice backup --verify <path>` */
export async function checkBackup(context: CliContext, path: string, { json }: { json?: boolean }): Promise<void> {
  const file = resolve(path);
  const manifest = await verifyBackup(file, context.signal);
  if (json) context.output.json({ file, ...summaryOf(manifest) });
  else print(context, `${file} is whole`, manifest);
}

/** Resolves a folder to a file in it that is named after the time. */
async function fileOf(path: string): Promise<string> {
  const full = resolve(path);
  const isFolder = await stat(full).then(
    (entry) => entry.isDirectory(),
    () => path.endsWith('/'),
  );
  const file = isFolder ? join(full, `sluice-${timeInName()}.tar.gz`) : full;
  await mkdir(dirname(file), { recursive: true });
  return file;
}

function summaryOf(manifest: BackupManifest) {
  const { version, createdAt, migrations, tables, objects } = manifest;
  return {
    ...{ version, createdAt, migration: migrations.at(-1)?.name ?? null, objects, keys: keysOf(manifest) },
    tables: tables.length,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  };
}

/** Whether the key of the installation is in a backup. An installation that never ran has noted none. */
function keysOf({ homeFiles, keyFingerprints }: BackupManifest): 'included' | 'none' | 'unknown' {
  if (homeFiles.length > 0) return 'included';
  return keyFingerprints[secretKeyName] === undefined ? 'unknown' : 'none';
}

function print({ output }: CliContext, title: string, manifest: BackupManifest): void {
  const { version, createdAt, tables, rows, objects, keys } = summaryOf(manifest);
  output.line(title);
  output.line(`made       ${createdAt} by version ${version}`);
  output.line(`database   ${rows} rows in ${tables} tables`);
  output.line(`objects    ${objects.stored}${objects.missing > 0 ? ` (${objects.missing} were not there)` : ''}`);
  output.line(`keys       ${keys === 'included' ? manifest.homeFiles.join(', ') : 'none'}`);
}
