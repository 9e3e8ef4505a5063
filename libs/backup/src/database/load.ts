import pg from 'pg';
import type { BackedUpTable, SequenceState } from '../manifest.js';
import { refuse } from '../refusal.js';
import { timeInName } from '../time-in-name.js';
import { copyIn } from './copy.js';
import { begin, connect, listTables } from './session.js';
import { copyTarget } from './snapshot.js';
import { historyTable } from './tables.js';

/**
 * Makes room in a database: it must be empty, or `replace` is set and the schema that holds its tables gets another name.
 * Returns that name; null: it was empty.
 */
export async function clearDatabase(
  url: string,
  { replace, queueSchema }: { replace: boolean; queueSchema: string },
): Promise<string | null> {
  const client = await connect(url);
  try {
    await assertUnused(client);
    const tables = await listTables(client);
    if (tables.length === 0) return null;
    if (!replace) {
      throw refuse(
        `The database is not empty (${tables.length} tables). Create an empty one and set DATABASE_URL to it, or add ` +
          '--replace: what is there stays in the same database, in a schema of another name.',
      );
    }
    return await setAside(client, queueSchema);
  } finally {
    await client.end();
  }
}

async function assertUnused(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ count: string }>(
    `SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'sluice-%'`,
  );
  const connections = Number(rows[0]?.count);
  if (connections === 0) return;
  throw refuse(`${connections} connections of Sluice use this database: stop api, ops and workers first.`);
}

/** The queue holds jobs of rows that are gone afterwards, so it is dropped; it is made again at the next start. */
async function setAside(client: pg.Client, queueSchema: string): Promise<string> {
  const { rows } = await client.query<{ schema: string }>('SELECT current_schema() AS schema');
  const schema = rows[0]?.schema ?? 'public';
  const aside = `${schema}_replaced_${timeInName().replaceAll(/\D/g, '')}`;
  try {
    await client.query('BEGIN');
    await client.query(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(queueSchema)} CASCADE`);
    await client.query(`ALTER SCHEMA ${pg.escapeIdentifier(schema)} RENAME TO ${pg.escapeIdentifier(aside)}`);
    await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    await client.query('COMMIT');
    return aside;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '42501') throw error;
    throw refuse(
      `The role of DATABASE_URL may not replace the schema ${schema} (${error.message}): restore as the owner of the ` +
        'database, or into a new one.',
    );
  }
}

/**
 * Fills the tables of a migrated database, in one transaction. The triggers of the project are off meanwhile, which the
 * owner of the tables may do on managed servers too; foreign keys are checked.
 */
export class DatabaseLoad {
  private readonly rows = new Map<string, number>();

  private constructor(
    private readonly client: pg.Client,
    private readonly tables: readonly string[],
  ) {}

  static async begin(url: string): Promise<DatabaseLoad> {
    const client = await connect(url);
    try {
      await begin(client);
      const tables = (await listTables(client)).filter((table) => table !== historyTable);
      const names = tables.map((table) => pg.escapeIdentifier(table));
      for (const name of names) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
      // Migrations have written rows, such as the accounts of the platform.
      await client.query(`TRUNCATE ${names.join(', ')}`);
      return new DatabaseLoad(client, tables);
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  /** Adds rows in the text format of `COPY`. */
  async add({ name, columns }: BackedUpTable, rows: AsyncIterable<Buffer>): Promise<void> {
    const added = await copyIn(this.client, `COPY ${copyTarget(name, columns)} FROM STDIN`, rows);
    this.rows.set(name, (this.rows.get(name) ?? 0) + added);
  }

  /** Compares the numbers of rows, sets the sequences and commits. */
  async commit(tables: readonly BackedUpTable[], sequences: readonly SequenceState[]): Promise<void> {
    for (const { name, rows } of tables) {
      const added = this.rows.get(name) ?? 0;
      if (added !== rows) throw new Error(`${name} has ${added} rows instead of ${rows}.`);
    }
    for (const { name, lastValue, isCalled } of sequences) {
      await this.client.query('SELECT setval(quote_ident($1)::regclass, $2::bigint, $3)', [name, lastValue, isCalled]);
    }
    for (const table of this.tables) {
      await this.client.query(`ALTER TABLE ${pg.escapeIdentifier(table)} ENABLE TRIGGER USER`);
    }
    await this.client.query('COMMIT');
    await this.client.query('ANALYZE');
  }

  /** Without a commit before, nothing was loaded. */
  async close(): Promise<void> {
    await this.client.end();
  }
}
