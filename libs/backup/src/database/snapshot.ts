import pg from 'pg';
import type { BackupManifest, SequenceState } from '../manifest.js';
import { refuse } from '../refusal.js';
import { copyOut } from './copy.js';
import { begin, connect, listTables } from './session.js';
import { backedUpTables, historyTable, omittedTables } from './tables.js';

/** The columns of a table that can be written. */
export interface TableColumns {
  name: string;
  columns: string[];
}

/** The database at one moment, while it is being written to: all reads are those of one transaction. */
export class DatabaseSnapshot {
  private constructor(private readonly client: pg.Client) {}

  static async open(url: string): Promise<DatabaseSnapshot> {
    const client = await connect(url);
    try {
      await begin(client, 'ISOLATION LEVEL REPEATABLE READ READ ONLY');
      return new DatabaseSnapshot(client);
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  /** Returns when the snapshot was taken, and the migrations that it has. */
  async describe(): Promise<Pick<BackupManifest, 'createdAt' | 'migrations'>> {
    if (!(await listTables(this.client)).includes(historyTable)) {
      throw refuse('The database has no tables of Sluice: set DATABASE_URL to the one that has.');
    }
    const { rows } = await this.client.query<{ now: Date }>('SELECT now() AS now');
    const history = await this.client.query<{ name: string; checksum: string }>(
      `SELECT migration_name AS name, checksum FROM ${historyTable}
        WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`,
    );
    return { createdAt: (rows[0]?.now ?? new Date()).toISOString(), migrations: history.rows };
  }

  async keyFingerprints(): Promise<Record<string, string>> {
    const { rows } = await this.client.query<{ name: string; fingerprint: Buffer }>(
      'SELECT name, fingerprint FROM key_fingerprints ORDER BY 1',
    );
    return Object.fromEntries(rows.map(({ name, fingerprint }) => [name, fingerprint.toString('hex')]));
  }

  /** Returns the tables that a backup holds, each after those that it references. */
  async tables(): Promise<TableColumns[]> {
    const { rows } = await this.client.query<{ name: string; columns: string[]; references: string[] }>(
      `SELECT c.relname AS name,
              (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
              (SELECT coalesce(array_agg(r.relname::text), '{}') FROM pg_constraint k
                 JOIN pg_class r ON r.oid = k.confrelid
                WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS references
         FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname = ANY ($1)
        ORDER BY 1`,
      [backedUpTables],
    );
    const missing = backedUpTables.filter((table) => !rows.some(({ name }) => name === table));
    if (missing.length > 0)
      throw refuse(`The database lacks the tables ${missing.join(', ')}: run \`sluice migrate\`.`);
    const ordered: TableColumns[] = [];
    const done = new Set<string>(Object.keys(omittedTables));
    for (let waiting = rows; waiting.length > 0;) {
      const ready = waiting.filter(({ references }) => references.every((table) => done.has(table)));
      if (ready.length === 0) throw new Error('Tables reference each other in a circle.');
      for (const { name, columns } of ready) {
        ordered.push({ name, columns });
        done.add(name);
      }
      waiting = waiting.filter(({ name }) => !done.has(name));
    }
    return ordered;
  }

  /** Yields all rows of a table, one chunk each. */
  rows({ name, columns }: TableColumns): AsyncIterable<Buffer> {
    return copyOut(this.client, `COPY ${copyTarget(name, columns)} TO STDOUT`);
  }

  /**
   * Returns the sequences of the tables. They belong to no transaction: a value may be ahead of the snapshot, and is
   * never behind it.
   */
  async sequences(): Promise<SequenceState[]> {
    const { rows } = await this.client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'S' ORDER BY 1`,
    );
    const states: SequenceState[] = [];
    for (const { name } of rows) {
      const state = await this.client.query<{ lastValue: string; isCalled: boolean }>(
        `SELECT last_value::text AS "lastValue", is_called AS "isCalled" FROM ${pg.escapeIdentifier(name)}`,
      );
      for (const { lastValue, isCalled } of state.rows) states.push({ name, lastValue, isCalled });
    }
    return states;
  }

  /** Returns the ids of the stored objects that rows refer to and that have not expired. */
  async objectIds(): Promise<string[]> {
    const { rows } = await this.client.query<{ id: string }>(
      `SELECT unnest(m.result_artifacts) AS id FROM media_jobs m WHERE m.deleted_at IS NULL
        UNION SELECT unnest(m.input_artifacts) FROM media_jobs m JOIN jobs j USING (request_id)
               WHERE j.state IN ('queued', 'running')
        UNION SELECT sample_id FROM cloned_voices WHERE expires_at > now()
        UNION SELECT artifact_id FROM download_links WHERE expires_at > now() AND revoked_at IS NULL
        ORDER BY 1`,
    );
    return rows.map(({ id }) => id);
  }

  async close(): Promise<void> {
    await this.client.end();
  }
}

/** The table and its columns, as `COPY` names them. */
export function copyTarget(table: string, columns: readonly string[]): string {
  return `${pg.escapeIdentifier(table)} (${columns.map((column) => pg.escapeIdentifier(column)).join(', ')})`;
}
