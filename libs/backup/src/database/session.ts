import pg from 'pg';

/** Settings of a transaction that reads or writes all rows: no time limits, and texts that any server reads alike. */
const settings = [
  'statement_timeout = 0',
  'lock_timeout = 0',
  'idle_in_transaction_session_timeout = 0',
  `DateStyle = 'ISO, YMD'`,
  `IntervalStyle = 'iso_8601'`,
  `TimeZone = 'UTC'`,
  `bytea_output = 'hex'`,
  'extra_float_digits = 1',
];

export const applicationName = 'sluice-backup';

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: applicationName });
  // A broken connection rejects the current query; between queries the error would be unhandled and end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export async function begin(client: pg.Client, characteristics = ''): Promise<void> {
  await client.query(`BEGIN ${characteristics}`);
  for (const setting of settings) await client.query(`SET LOCAL ${setting}`);
}

/** The names of the tables in the schema of the connection. */
export async function listTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}
