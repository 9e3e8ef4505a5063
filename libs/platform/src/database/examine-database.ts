import pg from 'pg';
import type { StoreFinding } from '../health/index.js';
import { maxConnections } from './connection-counts.js';

/** The oldest server that is tested. */
export const minimumPostgresVersion = 15;

/** How long the connection and each query may take, in ms. */
const maxWaitMs = 5_000;

/** From this fraction of the usable connections on, their number is reported. */
const reportedShare = 0.9;

/** The database, as an operator sees it. */
export interface DatabaseExamination {
  readonly version: string | null;
  readonly connections: { readonly used: number; readonly usable: number } | null;
  /** Clock of the server minus the clock of this process, in ms; null: not measured. */
  readonly clockOffsetMs: number | null;
  readonly findings: readonly StoreFinding[];
}

interface ServerRow {
  number: number;
  version: string;
  encoding: string;
  fsync: string;
  role: string;
  usable: number;
  used: number;
}

interface RightsRow {
  table: string;
  right: string;
}

const problem = (text: string): StoreFinding => ({ store: 'postgres', severity: 'problem', text });

/** Examines the database of an installation. Never rejects: a server that does not respond is a finding. */
export async function examineDatabase(
  url: string,
  { hasQueue }: { /** Whether the queue is in it, too. */ hasQueue: boolean },
): Promise<DatabaseExamination> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'sluice-doctor',
    connectionTimeoutMillis: maxWaitMs,
    query_timeout: maxWaitMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await examine(client, hasQueue);
  } catch (error) {
    const text = `PostgreSQL cannot be used (${(error as Error).message}): check DATABASE_URL and the network.`;
    return { version: null, connections: null, clockOffsetMs: null, findings: [problem(text)] };
  } finally {
    // Not awaited: a dead server would block the examination.
    client.end().catch(() => undefined);
  }
}

async function examine(client: pg.Client, hasQueue: boolean): Promise<DatabaseExamination> {
  const clockOffsetMs = await measureClock(client);
  // Connections of others are counted without the right to see what they do.
  const { rows } = await client.query<ServerRow>(`
    SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version,
           current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync, current_user AS role,
           current_setting('max_connections')::int
             - current_setting('superuser_reserved_connections')::int AS usable,
           (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`);
  const [server] = rows;
  if (server === undefined) throw new Error('the server did not describe itself');
  const findings = [
    ...serverFindings(server),
    ...connectionFindings(server, hasQueue),
    ...rightsFindings(server.role, await missingRights(client)),
  ];
  const { version, used, usable } = server;
  return { version, connections: { used, usable }, clockOffsetMs, findings };
}

function serverFindings({ number, version, encoding, fsync }: ServerRow): StoreFinding[] {
  const findings: StoreFinding[] = [];
  if (number < minimumPostgresVersion * 10_000) {
    const text = `PostgreSQL ${version} is older than ${minimumPostgresVersion}, the oldest version that is tested: upgrade it.`;
    findings.push(problem(text));
  }
  if (encoding !== 'UTF8') {
    const text = `The database has the encoding ${encoding}, which cannot hold all names and notes: create it with UTF8.`;
    findings.push(problem(text));
  }
  if (fsync === 'off') {
    findings.push(
      problem('PostgreSQL runs with fsync off, so a crash of the machine can destroy the ledger: set it to on.'),
    );
  }
  return findings;
}

function connectionFindings({ used, usable }: ServerRow, hasQueue: boolean): StoreFinding[] {
  const { api, ops, queue } = maxConnections;
  const least = api + ops + (hasQueue ? 3 * queue : 0);
  const opened = `An api opens up to ${api} connections and ops ${ops}${hasQueue ? `, and each process ${queue} for the queue` : ''}`;
  if (usable < least) {
    return [problem(`${opened}, but PostgreSQL allows ${usable}: raise max_connections.`)];
  }
  if (used < reportedShare * usable) return [];
  return [problem(`${used} of ${usable} connections to PostgreSQL are in use: raise max_connections. ${opened}.`)];
}

/** Rights on tables that the role lacks, in the schema of the tables. */
async function missingRights(client: pg.Client): Promise<RightsRow[]> {
  const { rows } = await client.query<RightsRow>(`
    SELECT c.relname AS table, r.name AS right
      FROM pg_class c CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS r(name)
     WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('jobs'))
       AND c.relkind IN ('r', 'p') AND c.relname <> '_prisma_migrations' AND NOT has_table_privilege(c.oid, r.name)
     ORDER BY c.relname, r.name`);
  return rows;
}

function rightsFindings(role: string, missing: readonly RightsRow[]): StoreFinding[] {
  const [first] = missing;
  if (first === undefined) return [];
  const others = missing.length > 1 ? ` and lacks ${missing.length - 1} more rights` : '';
  return [
    problem(
      `The role ${role} may not ${first.right} the table ${first.table}${others}: use the role that ran the migrations, or ` +
        'grant SELECT, INSERT, UPDATE and DELETE on all tables (docs/operate/operations.md).',
    ),
  ];
}

/** Half of the round trip is added to the server's time. */
async function measureClock(client: pg.Client): Promise<number> {
  const startedMs = Date.now();
  const { rows } = await client.query<{ ms: string }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS ms`,
  );
  const elapsedMs = Date.now() - startedMs;
  return Math.round(Number(rows[0]?.ms) - (startedMs + elapsedMs / 2));
}
