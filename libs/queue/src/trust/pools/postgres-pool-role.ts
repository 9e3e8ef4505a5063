import { createHash } from 'node:crypto';
import pg from 'pg';
import { PlatformError } from '#common';
import { queueSchema, SharedPostgresConnection } from '../../connections/postgres-connection.js';
import { poolRolePrefix, type PoolRole, queuesOf, withUser } from './pool-role.js';
import { jobResultQueueName } from '../../contract/job-definition.js';

/** Identifiers are cut off at 63 bytes: a hash keeps pools apart whose names begin alike. */
const poolNameLength = 16;

/** How long a running statement may hold up the change of a table, in ms; what comes after it waits as long. */
const lockTimeoutMs = 5_000;

/** The columns that BullMQ's functions write while a job goes through a queue; not its queue, options or parents. */
const jobColumns = [
  ...['state', 'seq', 'data', 'delay_ms', 'attempts_made', 'attempts_started', 'progress', 'return_value'],
  ...['failed_reason', 'stacktrace', 'deferred_failure', 'processed_by', 'process_at_ms', 'processed_at_ms'],
  ...['finished_at_ms', 'lock_token', 'locked_until_ms', 'stalled_count', 'stalled_marked'],
];

/** The columns that `appendJob` writes. */
const resultColumns = ['queue', 'id', 'seq', 'name', 'state', 'data', 'opts', 'max_attempts', 'added_at_ms'];

/** SQLSTATE of a missing privilege. */
const notAllowed = '42501';

type Action = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

/**
 * What a worker may do with the rows of its queues in one table. An action with an empty list of columns is allowed for
 * all of them.
 */
interface TableRight {
  table: string;
  /** The column that names the queue of a row. */
  queueColumn?: string;
  actions: Partial<Record<Action, readonly string[]>>;
}

const all: readonly string[] = [];

const ownQueues: readonly TableRight[] = [
  { table: 'job', actions: { SELECT: all, UPDATE: jobColumns, DELETE: all } },
  { table: 'meta', actions: { SELECT: all, INSERT: all, UPDATE: all } },
  { table: 'event', actions: { SELECT: all, INSERT: all, DELETE: all } },
  { table: 'job_dependency', queueColumn: 'parent_queue', actions: { SELECT: all } },
  { table: 'scheduler', actions: { SELECT: all } },
];

/**
 * Returns the name of a pool's role. Roles belong to the whole server, whose databases may hold pools of the same name.
 */
export function poolRoleName({ namespace, pool, database }: Record<'namespace' | 'pool' | 'database', string>): string {
  const hash = createHash('sha256').update(`${database}\0${pool}`).digest('hex').slice(0, 8);
  return `${poolRolePrefix(namespace)}${pool.slice(0, poolNameLength)}_${hash}`;
}

/** Returns the statements that give a role the queues of its models, and take all others from it. */
export function poolRoleStatements(role: PoolRole, roleName: string): string[] {
  const schema = pg.escapeIdentifier(queueSchema(role.namespace));
  const name = pg.escapeIdentifier(roleName);
  const queues = queuesOf(role).map((queue) => pg.escapeLiteral(queue));
  const policy = (action: Action) => pg.escapeIdentifier(`${roleName} ${action.toLowerCase()}`.slice(-63));
  const rights = ownQueues.flatMap(({ table, queueColumn = 'queue', actions }) =>
    (Object.entries(actions) as [Action, readonly string[]][]).flatMap(([action, columns]) => {
      const condition = `(${queueColumn} = ANY (ARRAY[${queues.join(', ')}]::text[]))`;
      return [
        `GRANT ${action}${columns.length > 0 ? ` (${columns.join(', ')})` : ''} ON ${schema}.${table} TO ${name}`,
        `CREATE POLICY ${policy(action)} ON ${schema}.${table} FOR ${action} TO ${name} ` +
          `${action === 'INSERT' ? 'WITH CHECK' : 'USING'} ${condition}`,
      ];
    }),
  );
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${name}`,
    `GRANT USAGE ON SEQUENCE ${schema}.job_seq, ${schema}.event_seq TO ${name}`,
    `GRANT SELECT ON ${schema}.migration TO ${name}`,
    ...rights,
    // Results are added and never read.
    `GRANT INSERT (${resultColumns.join(', ')}) ON ${schema}.job TO ${name}`,
    `CREATE POLICY ${policy('INSERT')} ON ${schema}.job FOR INSERT TO ${name} ` +
      `WITH CHECK (queue = ${pg.escapeLiteral(jobResultQueueName)} AND state = 'waiting')`,
  ];
}

/**
 * Creates or replaces the PostgreSQL role of a pool. Resolves to the URL for its workers. `url` names the role of api
 * and ops, which owns the queue's tables. Where that role may not create roles, the role of `adminUrl` does.
 */
export async function ensurePostgresPoolRole(
  { url, adminUrl }: { url: string; adminUrl?: string },
  role: PoolRole,
): Promise<{ url: string }> {
  await migrateQueue(url, role.namespace);
  const name = await connected(url, async (owner) => {
    // The lock lasts until the connection ends. Two commands at once would change the same rows of the catalog, and one
    // would fail.
    await owner.query(`SET lock_timeout = ${6 * lockTimeoutMs}`);
    await owner.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`pool roles ${role.namespace}`]);
    const { rows } = await owner.query<{ database: string; owner: string; may: boolean; isSuper: boolean }>(
      `SELECT current_database() AS database, rolname AS owner, rolcreaterole OR rolsuper AS may, rolsuper AS "isSuper"
         FROM pg_roles WHERE rolname = current_user`,
    );
    const [{ database, owner: ownerName, may, isSuper } = { database: '', owner: '', may: false, isSuper: false }] =
      rows;
    const roleName = poolRoleName({ ...role, database });
    const wanted = { roleName, password: role.password, member: isSuper ? null : ownerName };
    if (may) await createRole(owner, wanted);
    else await connected(withAdmin(url, adminUrl), (admin) => createRole(admin, wanted));
    await replaceRights(owner, role, roleName);
    return roleName;
  });
  return { url: withUser(url, { user: name, password: role.password }) };
}

/** Returns what `ensurePostgresPoolRole` resolves to, without a connection. */
export function describePostgresPoolRole(url: string, role: PoolRole): { url: string } {
  const { pathname, username } = new URL(url);
  const database = decodeURIComponent(pathname.slice(1) || username);
  return { url: withUser(url, { user: poolRoleName({ ...role, database }), password: role.password }) };
}

async function migrateQueue(url: string, namespace: string): Promise<void> {
  const connection = new SharedPostgresConnection({ url, schema: queueSchema(namespace), clientName: 'cli' });
  connection.on('error', () => undefined);
  try {
    await connection.migrate();
  } finally {
    await connection.shutDown();
  }
}

interface WantedRole {
  roleName: string;
  password: string;
  /**
   * The owner of the queue, which becomes a member of the role so that it may end its sessions. Null for a superuser,
   * which may end all.
   */
  member: string | null;
}

/** Creates the role. It can take at most half of the connections of the server. */
async function createRole(admin: pg.Client, { roleName, password, member }: WantedRole): Promise<void> {
  const { rowCount } = await admin.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [roleName]);
  const name = pg.escapeIdentifier(roleName);
  const { rows } = await admin.query<{ max: number }>(`SELECT current_setting('max_connections')::int AS max`);
  const limit = Math.max(1, Math.floor((rows[0]?.max ?? 2) / 2));
  const options = `LOGIN PASSWORD ${pg.escapeLiteral(password)} CONNECTION LIMIT ${limit}`;
  try {
    await admin.query(`${rowCount ? 'ALTER' : 'CREATE'} ROLE ${name} ${options}`);
    if (member !== null) await admin.query(`GRANT ${name} TO ${pg.escapeIdentifier(member)}`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== notAllowed) throw error;
    const message =
      `The role ${admin.user} may not create or change the role ${roleName}: give it CREATEROLE (and the role, if another ` +
      'created it), or set DATABASE_URL to a role that may.';
    throw new PlatformError('UNAUTHORIZED', message, null, { cause: error });
  }
}

async function replaceRights(owner: pg.Client, role: PoolRole, roleName: string): Promise<void> {
  const schema = queueSchema(role.namespace);
  const name = pg.escapeIdentifier(roleName);
  await owner.query('BEGIN');
  await owner.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
  const { rows: policies } = await owner.query<{ policyname: string; tablename: string }>(
    'SELECT policyname, tablename FROM pg_policies WHERE schemaname = $1 AND roles = ARRAY[$2]::name[]',
    [schema, roleName],
  );
  for (const { policyname, tablename } of policies) {
    const table = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(tablename)}`;
    await owner.query(`DROP POLICY ${pg.escapeIdentifier(policyname)} ON ${table}`);
  }
  await owner.query(`REVOKE ALL ON ALL TABLES IN SCHEMA ${pg.escapeIdentifier(schema)} FROM ${name}`);
  for (const { table } of ownQueues) {
    await owner.query(`ALTER TABLE ${pg.escapeIdentifier(schema)}.${table} ENABLE ROW LEVEL SECURITY`);
  }
  for (const statement of poolRoleStatements(role, roleName)) await owner.query(statement);
  await owner.query('COMMIT');
}

/** Returns `url` with the credentials of the admin's URL, whose server and database do not matter. */
function withAdmin(url: string, adminUrl: string | undefined): string {
  if (adminUrl === undefined) {
    const message = 'The role of the queue may not create roles: set DATABASE_URL to one of its server that may.';
    throw new PlatformError('INVALID_REQUEST', message);
  }
  const { username, password } = new URL(adminUrl);
  return withUser(url, { user: decodeURIComponent(username), password: decodeURIComponent(password) });
}

async function connected<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url, application_name: 'sluice-cli' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
