import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** A customer whose requests are only rows. */
export interface RowCustomer {
  account: string;
  key: string;
}

export async function insertCustomer(client: Pick<pg.ClientBase, 'query'>): Promise<RowCustomer> {
  const account = randomUUID();
  await client.query(`INSERT INTO accounts (id, name) VALUES ($1, 'a')`, [account]);
  return { account, key: await insertKey(client, account, { last6: 'abcdef' }) };
}

/** Inserts an inference key of an account, and returns its id. */
export async function insertKey(
  client: Pick<pg.ClientBase, 'query'>,
  account: string,
  { last6, description = '' }: { last6: string; description?: string },
): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO api_keys (account_id, kind, key_hash, last6, description)
     VALUES ($1, 'INFERENCE', sha256($2::bytea), $3, $4) RETURNING id`,
    [account, randomUUID(), last6, description],
  );
  return rows[0]?.id ?? '';
}

/** Inserts a customer with 1,000 USD. */
export async function newRowCustomer(client: pg.Client): Promise<RowCustomer> {
  const customer = await insertCustomer(client);
  await client.query(`SELECT ledger_credit('top_up', $1, 'USD', 1000000000000, NULL, '')`, [customer.account]);
  return customer;
}

/**
 * Writes what finished requests leave: jobs with their results, closed reservations, and rows that expire. Each tenth one is
 * charged a micro-USD by the ledger; each twentieth is an async job.
 */
export async function writeFinishedRequests(
  client: pg.Client,
  { account, key }: RowCustomer,
  { count, daysAgo }: { count: number; daysAgo: number },
): Promise<void> {
  const batch = randomUUID();
  await client.query(
    `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, created_at, enqueued_at,
                       deadline_at, started_at, finished_at, prompt_tokens, completion_tokens)
     SELECT $1::text || '-' || n, $2::uuid, $3::uuid, 'chat', 'm',
            CASE WHEN n % 10 = 0 THEN 'queued' ELSE 'succeeded' END::job_state, at, at, at, at,
            CASE WHEN n % 10 = 0 THEN NULL ELSE at END, 10, 10
       FROM generate_series(1, $4::int) AS n, LATERAL (SELECT now() - make_interval(days => $5) AS at) t`,
    [batch, account, key, count, daysAgo],
  );
  await client.query(
    `INSERT INTO holds (request_id, account_id, api_key_id, model_id, state, diem_nano, bundled_nano, usd_nano, charged_nano,
                        diem_epoch, closed_at)
     SELECT $1::text || '-' || n, $2::uuid, $3::uuid, 'm', 'released', 0, 0, 2000, 0, now()::date, now()
       FROM generate_series(1, $4::int) AS n WHERE n % 10 <> 0`,
    [batch, account, key, count],
  );
  const charged = `SELECT $1::text || '-' || n AS id FROM generate_series(10, $2::int, 10) AS n`;
  await client.query(`SELECT ledger_reserve(id, $3, $4, 'm', 2000, NULL, NULL) FROM (${charged}) c`, [
    batch,
    count,
    account,
    key,
  ]);
  await client.query(
    `SELECT ledger_close(id, 1, 'settled', '[{"sku":"s","units":1,"unitPriceNano":1000,"amountNano":1000}]')
       FROM (${charged}) c`,
    [batch, count],
  );
  await client.query(`UPDATE jobs SET state = 'succeeded', finished_at = created_at WHERE request_id IN (${charged})`, [
    batch,
    count,
  ]);
  await client.query(
    `INSERT INTO outcomes (request_id, attempt, status, applied)
     SELECT $1::text || '-' || n, 1, 'succeeded', true FROM generate_series(1, $2::int) AS n`,
    [batch, count],
  );
  await client.query(
    `INSERT INTO media_jobs (request_id, queue_id, model_id, closed_at)
     SELECT $1::text || '-' || n, gen_random_uuid(), 'm', now() - make_interval(days => $3)
       FROM generate_series(20, $2::int, 20) AS n`,
    [batch, count, daysAgo],
  );
  await client.query(
    `INSERT INTO idempotency_keys (account_id, key, fingerprint, request_id, held_until, expires_at)
     SELECT $2::uuid, $1::text || '-' || n, '\\x00', $1::text || '-' || n, now() - interval '1 day', now() - interval '1 day'
       FROM generate_series(1, $3::int, 4) AS n`,
    [batch, account, count],
  );
  await client.query(
    `INSERT INTO response_states (id, account_id, ciphertext, expires_at)
     SELECT 'resp_' || $1::text || '-' || n, $2::uuid, '\\x00', now() - interval '1 day'
       FROM generate_series(1, $3::int, 4) AS n`,
    [batch, account, count],
  );
  await client.query(
    `INSERT INTO exchange_signatures (request_id, response_id, account_id, model_id, text, expires_at)
     SELECT $1::text || '-' || n, $1::text || '-' || n, $2::uuid, 'm', 'm:0:0', now() - interval '1 day'
       FROM generate_series(1, $3::int, 4) AS n`,
    [batch, account, count],
  );
  await client.query(
    `INSERT INTO download_links (artifact_id, expires_at)
     SELECT $1::text || '-' || n, now() - interval '1 day' FROM generate_series(20, $2::int, 20) AS n`,
    [batch, count],
  );
}

/**
 * Writes rows that expire by themselves: of sign-ins to the console, of windows of rate limits, of installations, and
 * of payloads nobody took.
 */
export async function writeExpiredRows(client: pg.Client, { key }: RowCustomer, count: number): Promise<void> {
  const batch = randomUUID();
  const expired = `now() - interval '1 day'`;
  for (const table of ['console_sessions', 'console_links']) {
    await client.query(
      `INSERT INTO ${table} (token_hash, api_key_id, expires_at)
       SELECT sha256(($1::text || '-' || n)::bytea), $2::uuid, ${expired} FROM generate_series(1, $3::int) AS n`,
      [batch, key, count],
    );
  }
  await client.query(
    `INSERT INTO rate_limit_windows (key, touched_at)
     SELECT $1::text || '-' || n, now() - interval '1 year' FROM generate_series(1, $2::int) AS n`,
    [batch, count],
  );
  await client.query(
    `INSERT INTO rate_limit_leases (key, lease_id, expires_at)
     SELECT $1::text, n, ${expired} FROM generate_series(1, $2::int) AS n`,
    [batch, count],
  );
  await client.query(
    `INSERT INTO model_installations (reference, state, finished_at)
     SELECT 'm-' || n, 'installed', now() - interval '91 days' FROM generate_series(1, $1::int) AS n`,
    [count],
  );
  await client.query(
    `INSERT INTO model_installers (id, host, import_folder, free_bytes, seen_at)
     SELECT $1::text || '-' || n, 'host', '/import', 0, now() - interval '2 hours' FROM generate_series(1, $2::int) AS n`,
    [batch, count],
  );
  await client.query(
    `INSERT INTO job_payloads (request_id, ciphertext)
     SELECT request_id, '\\x00' FROM jobs WHERE finished_at < now() - interval '90 days' ORDER BY request_id LIMIT $1
         ON CONFLICT DO NOTHING`,
    [count],
  );
}

/** Writes sums of usage that are older than any view shows, one row for each of `count` quarters of an hour. */
export async function writeOldUsage(client: pg.Client, { account, key }: RowCustomer, count: number): Promise<void> {
  const slot = `date_bin('15 minutes', now() - interval '3 years 1 day', 'epoch') - n * interval '15 minutes'`;
  await client.query(
    `INSERT INTO usage_charges (account_id, slot, model_id, api_key_id, modality, sku, is_diem, amount_nano, units)
     SELECT $1::uuid, ${slot}, 'm', $2::uuid, 'chat', 's', false, 1000, 1 FROM generate_series(1, $3::int) AS n`,
    [account, key, count],
  );
  await client.query(
    `INSERT INTO usage_requests (account_id, slot, model_id, api_key_id, modality, requests, failed, prompt_tokens,
                                 cached_tokens, completion_tokens)
     SELECT $1::uuid, ${slot}, 'm', $2::uuid, 'chat', 1, 0, 1, 0, 1 FROM generate_series(1, $3::int) AS n`,
    [account, key, count],
  );
  // The first one deletes old sums of models and keys, which the second one writes.
  const until = `date_bin('15 minutes', now() - interval '3 years', 'epoch')`;
  await client.query(`SELECT usage_sum_up('-infinity', ${until}), usage_sum_up_filtered('-infinity', ${until})`);
}
