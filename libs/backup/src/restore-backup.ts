import { posix } from 'node:path';
import { buffer, json } from 'node:stream/consumers';
import { migrate, projectMigrationsFolder, readMigrations } from '#platform/migrations';
import { type ArtifactStore, parseArtifactId, type ArtifactRecord } from '#storage';
import { type ArchivedFile, readArchive } from './archive/read-archive.js';
import { DatabaseLoad } from './database/load.js';
import { type BackupManifest, homePart, objectsPart, tablePart } from './manifest.js';
import { refuse } from './refusal.js';
import type { HomeFile } from './create-backup.js';

export interface RestoreOptions {
  /** The archive, which was verified. */
  file: string;
  manifest: BackupManifest;
  /** An empty database. */
  databaseUrl: string;
  store: ArtifactStore;
  /** Default: the migrations of this project. */
  migrationsFolder?: string;
  onProgress: (line: string) => void;
  signal: AbortSignal;
}

export interface RestoreResult {
  rows: number;
  objects: number;
  /** Objects whose time ended since the backup. */
  expiredObjects: number;
  /** Migrations that came after the backup. */
  migrations: string[];
  homeFiles: HomeFile[];
}

/** Throws unless this version knows the schema of a backup. */
export async function assertRestorable(
  { migrations, version }: BackupManifest,
  migrationsFolder = projectMigrationsFolder(),
): Promise<void> {
  const known = new Map((await readMigrations(migrationsFolder)).map(({ name, checksum }) => [name, checksum]));
  const unknown = migrations.find(({ name, checksum }) => known.get(name) !== checksum);
  if (unknown === undefined) return;
  throw refuse(
    `The backup was made by version ${version}, whose migration ${unknown.name} this version does not know: restore it ` +
      'with that version, or a newer one.',
  );
}

/** Migrates an empty database as far as the backup was, loads it, and migrates it to this version. */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { manifest, databaseUrl, migrationsFolder: folder, onProgress } = options;
  await migrate({ url: databaseUrl, folder, through: manifest.migrations.at(-1)?.name });
  onProgress(`tables created: ${manifest.migrations.length} migrations`);
  const load = await DatabaseLoad.begin(databaseUrl);
  let result: Omit<RestoreResult, 'migrations'>;
  try {
    result = await readParts(options, load);
    await load.commit(manifest.tables, manifest.sequences);
  } finally {
    await load.close();
  }
  onProgress(`database: ${result.rows} rows in ${manifest.tables.length} tables`);
  const migrations = await migrate({ url: databaseUrl, folder });
  return { ...result, migrations };
}

async function readParts(
  { file, manifest, store, signal }: RestoreOptions,
  load: DatabaseLoad,
): Promise<Omit<RestoreResult, 'migrations'>> {
  const tables = new Map(manifest.tables.map((table) => [tablePart(table.name), table]));
  const objects = new ObjectRestore(store);
  const homeFiles: HomeFile[] = [];
  for await (const archived of readArchive(file, signal)) {
    const part = posix.dirname(archived.path);
    const table = tables.get(part);
    if (table !== undefined) await load.add(table, archived.content);
    else if (part === objectsPart) await objects.add(archived);
    else if (part === homePart) {
      homeFiles.push({ name: posix.basename(archived.path), content: await buffer(archived.content) });
    }
  }
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  return { rows, objects: objects.stored, expiredObjects: objects.expired, homeFiles };
}

/** Puts objects into the store under their ids. Each follows its record. */
class ObjectRestore {
  stored = 0;
  expired = 0;
  private record: ArtifactRecord | null = null;

  constructor(private readonly store: ArtifactStore) {}

  async add({ path, content }: ArchivedFile): Promise<void> {
    const name = posix.basename(path);
    if (name.endsWith('.json')) {
      this.record = (await json(content)) as ArtifactRecord;
      return;
    }
    const { record } = this;
    if (record?.id !== name) throw new Error(`${path} has no record.`);
    if ((parseArtifactId(name)?.expiresAtMs ?? 0) <= Date.now()) {
      this.expired += 1;
      return;
    }
    await this.store.putReserved(name, content, { contentType: record.contentType });
    this.stored += 1;
  }
}
