import { createHash } from 'node:crypto';
import pg from 'pg';
import { deriveKey } from '#common';

export interface QueueRoleOptions {
  /** URL of a role that may create roles. */
  url: string;
  /** Hex secret from which the role's password is derived, so that every start gets the same one. */
  secretKey: string;
  /** Namespace of the queue, as in `SLUICE_NAMESPACE`; its schema is `<namespace>_queue`. Default: `sluice`. */
  namespace?: string;
}

/**
 * Creates or updates the role of workers on a Postgres queue and its schema; resolves to the URL for workers. The role
 * owns only that schema: it can read no other table and create no other schema.
 */
export async function ensureQueueRole(options: QueueRoleOptions): Promise<string> {
  const namespace = options.namespace ?? 'sluice';
  const client = new pg.Client({ connectionString: options.url, application_name: 'sluice-migrations' });
  await client.connect();
  try {
    await client.query('BEGIN');
    // Roles belong to the whole server, so two installations must not create one at the same time.
    await client.query('SELECT pg_advisory_xact_lock(72707370)');
    const database = await currentDatabase(client);
    const role = roleOf(database, namespace);
    const schema = client.escapeIdentifier(`${namespace}_queue`);
    const password = deriveKey(options.secretKey, `queue role ${role}`).toString('hex');
    const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
    const verb = rowCount ? 'ALTER' : 'CREATE';
    await client.query(`${verb} ROLE ${role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}'`);
    await client.query(`GRANT CONNECT ON DATABASE ${client.escapeIdentifier(database)} TO ${role}`);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema} AUTHORIZATION ${role}`);
    // A restored dump brings the schema without its owner, even if it leaves out what is in it.
    if (!(await isOwner(client, role, `${namespace}_queue`)))
      await client.query(`ALTER SCHEMA ${schema} OWNER TO ${role}`);
    await client.query('COMMIT');
    return withCredentials(options.url, role, password);
  } finally {
    await client.end();
  }
}

async function isOwner(client: pg.Client, role: string, schema: string): Promise<boolean> {
  const sql = 'SELECT pg_get_userbyid(nspowner) AS owner FROM pg_namespace WHERE nspname = $1';
  const { rows } = await client.query<{ owner: string }>(sql, [schema]);
  return rows[0]?.owner === role;
}

/** Roles are shared by all databases of a server, whose installations may have different secrets. */
function roleOf(database: string, namespace: string): string {
  return `${namespace}_queue_${createHash('sha256').update(database).digest('hex').slice(0, 8)}`;
}

function withCredentials(serverUrl: string, user: string, password: string): string {
  const url = new URL(serverUrl);
  url.username = user;
  url.password = password;
  return url.href;
}

async function currentDatabase(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  const name = rows[0]?.name;
  if (!name) throw new Error('The server did not name its database.');
  return name;
}
