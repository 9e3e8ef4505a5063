import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '#common';
import { isDiskFull } from '#platform/files';
import { type MigrationFile, projectMigrationsFolder, readMigrations } from '#platform/migrations';
import type { ArtifactStore } from '#storage';
import { ArchiveWriter } from './archive/archive-writer.js';
import { DatabaseSnapshot, type TableColumns } from './database/snapshot.js';
import {
  type BackedUpTable,
  type BackupManifest,
  formatVersion,
  homePart,
  manifestName,
  objectsPart,
  tablePart,
} from './manifest.js';
import { refuse } from './refusal.js';

export interface HomeFile {
  name: string;
  content: Uint8Array;
}

export interface BackupOptions {
  /** The archive to write. */
  path: string;
  databaseUrl: string;
  store: ArtifactStore;
  /** Version of the product. */
  version: string;
  /** Default: the migrations of this project. */
  migrationsFolder?: string;
  /** Selects the files of the home, given the fingerprints of the keys of the installation. */
  homeFiles: (keyFingerprints: Readonly<Record<string, string>>) => Promise<HomeFile[]>;
  onProgress: (line: string) => void;
  signal: AbortSignal;
}

/** Bytes of rows in a file of the archive; more only for a single row that is larger. */
const chunkBytes = 4 * 2 ** 20;

/** Writes a backup while the installation runs; resolves to its manifest. Leaves nothing behind when it fails. */
export async function createBackup(options: BackupOptions): Promise<BackupManifest> {
  const { path, databaseUrl } = options;
  if (existsSync(path)) throw refuse(`${path} exists: name another file.`);
  const snapshot = await DatabaseSnapshot.open(databaseUrl);
  try {
    const described = await snapshot.describe();
    assertSameMigrations(
      described.migrations,
      await readMigrations(options.migrationsFolder ?? projectMigrationsFolder()),
    );
    const keyFingerprints = await snapshot.keyFingerprints();
    const writer = await ArchiveWriter.create(path);
    try {
      const homeFiles = await options.homeFiles(keyFingerprints);
      for (const { name, content } of homeFiles) {
        await writer.add(`${homePart}/${name}`, content.length, [content]);
      }
      const tables = await addTables(writer, snapshot, options);
      const sequences = await snapshot.sequences();
      const objectIds = await snapshot.objectIds();
      // From here on the server may clean up what changed since.
      await snapshot.close();
      const objects = await addObjects(writer, objectIds, options);
      const head = { format: formatVersion, version: options.version, ...described, keyFingerprints };
      let manifest: BackupManifest | undefined;
      await writer.finish(manifestName, (parts) => {
        manifest = { ...head, homeFiles: homeFiles.map(({ name }) => name), tables, sequences, objects, parts };
        return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
      });
      return manifest as unknown as BackupManifest;
    } catch (error) {
      await writer.discard();
      throw isDiskFull(error) ? refuse(`The disk of ${dirname(path)} is full: name a folder on another one.`) : error;
    }
  } finally {
    await snapshot.close();
  }
}

function assertSameMigrations(found: BackupManifest['migrations'], known: readonly MigrationFile[]): void {
  const names = new Set(known.map(({ name }) => name));
  const newer = found.find(({ name }) => !names.has(name));
  if (newer !== undefined) {
    throw refuse(`The database has the migration ${newer.name} of a newer version: make the backup with that version.`);
  }
  if (found.length < known.length) {
    throw refuse(
      'The database is behind this version: make the backup with the version that uses it, or migrate first.',
    );
  }
}

async function addTables(
  writer: ArchiveWriter,
  snapshot: DatabaseSnapshot,
  { onProgress, signal }: BackupOptions,
): Promise<BackedUpTable[]> {
  const tables: BackedUpTable[] = [];
  for (const table of await snapshot.tables()) {
    const rows = await addTable(writer, snapshot, table, signal);
    tables.push({ ...table, rows });
    if (rows > 0) onProgress(`${table.name}: ${rows} rows`);
  }
  return tables;
}

async function addTable(
  writer: ArchiveWriter,
  snapshot: DatabaseSnapshot,
  table: TableColumns,
  signal: AbortSignal,
): Promise<number> {
  let [rows, bytes, files] = [0, 0, 0];
  let chunk: Buffer[] = [];
  const flush = async (): Promise<void> => {
    if (bytes === 0) return;
    files += 1;
    await writer.add(`${tablePart(table.name)}/${String(files).padStart(6, '0')}`, bytes, chunk);
    [bytes, chunk] = [0, []];
  };
  for await (const row of snapshot.rows(table)) {
    signal.throwIfAborted();
    // A copy, because the row shares its memory with what the connection received around it.
    chunk.push(Buffer.from(row));
    bytes += row.length;
    rows += countLines(row);
    if (bytes >= chunkBytes && row.at(-1) === newline) await flush();
  }
  await flush();
  return rows;
}

const newline = 0x0a;

/** The text format of `COPY` has one line per row, whatever the values are. */
function countLines(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) lines += 1;
  return lines;
}

async function addObjects(
  writer: ArchiveWriter,
  ids: readonly string[],
  { store, onProgress, signal }: BackupOptions,
): Promise<BackupManifest['objects']> {
  let [stored, missing] = [0, 0];
  for (const id of ids) {
    signal.throwIfAborted();
    const open = await store.open(id).catch((error: unknown) => {
      if (error instanceof PlatformError && error.code === 'MEDIA_NOT_FOUND') return null;
      throw error;
    });
    if (open === null) {
      missing += 1;
      continue;
    }
    const record = Buffer.from(JSON.stringify(open.record));
    await writer.add(`${objectsPart}/${id}.json`, record.length, [record]);
    await writer.add(`${objectsPart}/${id}`, open.record.bytes, open.stream);
    stored += 1;
  }
  if (ids.length > 0) onProgress(`stored objects: ${stored}, and ${missing} that are not there`);
  return { stored, missing };
}
