import { PlatformError } from '#common';
import { type DatabaseExamination, examineDatabase } from '#platform/database';
import type { StoreFinding } from '#platform/health';
import { MigrationCheck } from '#platform/migrations';
import type { RawQueries } from '#platform/prisma';
import { examineRedis, type RedisExamination } from '#queue/checks';
import { examineStorage, type StorageSettings } from '#storage';
import { clockFinding } from './clock-finding.js';
import { KeyFingerprintsRepository, type NamedKeys } from './key-fingerprints.repository.js';

export interface StoreSettings {
  /** Null when not known here. */
  readonly databaseUrl: string | null;
  readonly queueUrl: string | null;
  /** Redis of the rate limits, or null when they are elsewhere. */
  readonly limitsRedisUrl: string | null;
  readonly namespace: string;
  readonly storage: StorageSettings;
  readonly keys: readonly NamedKeys[];
  /** Queries for the fingerprints of keys, or null when they are not compared. */
  readonly queries: RawQueries | null;
  /** True when the keys of this process are noted for the others, because it is one of the installation. */
  readonly notesKeys: boolean;
}

/** The findings about the stores of an installation. */
export interface StoresReport {
  readonly postgres: Omit<DatabaseExamination, 'findings'> | null;
  /** The Redis of the queue, and that of the rate limits where it is another one. */
  readonly redis: readonly Omit<RedisExamination, 'findings'>[];
  readonly findings: readonly StoreFinding[];
}

/** Examines every store that the settings name, as one of its users. Never rejects: what fails is a finding. */
export async function examineStores(settings: StoreSettings): Promise<StoresReport> {
  const { databaseUrl, queueUrl, limitsRedisUrl, namespace, storage } = settings;
  const redisUrls = new Set([queueUrl, limitsRedisUrl].filter((url) => url?.startsWith('redis') === true));
  const [database, redis, storageFindings] = await Promise.all([
    databaseUrl === null ? null : examineDatabase(databaseUrl, { hasQueue: queueUrl?.startsWith('postgres') === true }),
    Promise.all([...redisUrls].map((url) => examineRedis(url ?? '', namespace))),
    examineStorage(storage),
  ]);
  const findings: StoreFinding[] = [
    ...(database?.findings ?? []),
    // A database that does not respond, or has no tables, is reported once.
    ...(database === null || database.version === null ? [] : await examineTables(settings)),
    ...redis.flatMap((examination) => examination.findings),
    ...storageFindings,
    ...clockFinding('PostgreSQL', database?.clockOffsetMs ?? null),
    ...redis.flatMap(({ clockOffsetMs }) => clockFinding('Redis', clockOffsetMs)),
  ];
  return {
    postgres: database === null ? null : withoutFindings(database),
    redis: redis.map((examination) => withoutFindings(examination)),
    findings,
  };
}

async function examineTables({ databaseUrl, queries, keys, notesKeys }: StoreSettings): Promise<StoreFinding[]> {
  try {
    await new MigrationCheck({ url: databaseUrl ?? '' }).check();
  } catch (error) {
    const text = error instanceof PlatformError ? error.message : `The migrations cannot be read: ${String(error)}`;
    return [{ store: 'postgres', severity: 'problem', text }];
  }
  if (queries === null) return [];
  const repository = new KeyFingerprintsRepository(queries);
  try {
    const found = await Promise.all(keys.map((named) => repository.compare(named, { note: notesKeys })));
    return found.flat();
  } catch (error) {
    const text = `The keys of the processes could not be compared (${(error as Error).name}): look at the database.`;
    return [{ store: 'keys', severity: 'note', text }];
  }
}

function withoutFindings<Examination extends { findings: unknown }>(
  examination: Examination,
): Omit<Examination, 'findings'> {
  const { findings: _findings, ...rest } = examination;
  return rest;
}
