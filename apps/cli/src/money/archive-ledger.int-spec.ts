import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { foldUsage } from '#test/fold-usage';
import { newRowCustomer, writeFinishedRequests } from '#test/finished-requests';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

describe('sluice ledger archive', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let home: string;
  const month = new Date().toISOString().slice(0, 7);

  beforeAll(async () => {
    database = await createMigratedDatabase();
    home = await mkdtemp(join(tmpdir(), 'sluice-cli-'));
    client = new pg.Client(database.url);
    await client.connect();
    await writeFinishedRequests(client, await newRowCustomer(client), { count: 20, daysAgo: 0 });
    // Nothing of the product changes when something was posted.
    await client.query('SET session_replication_role = replica');
    await client.query(`UPDATE ledger_transactions SET created_at = created_at - interval '2 months'`);
    await client.query(`UPDATE ledger_entries SET created_at = created_at - interval '2 months'`);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
    await rm(home, { recursive: true });
  });

  const run = (...line: string[]) => runCommandLine(line, { SLUICE_HOME: home, DATABASE_URL: database.url });

  it('refuses until usage is in the sums of reports, as after an upgrade', async () => {
    const folder = join(home, 'early');
    const early = run('ledger', 'archive', '--before', month, '--to', folder);
    await expect(early).rejects.toThrow('Ops has summed up no usage yet');
    await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' });
    await foldUsage(client);
  });

  it('moves closed months to a file, which verification checks from then on', async () => {
    const folder = join(home, 'ledger');
    const text = await run('ledger', 'archive', '--before', month, '--to', folder);
    expect(text).toMatch(/^3 transactions with \d+ entries are in .*jsonl\nsha256 [0-9a-f]{64}\n$/);
    expect(await run('ledger', 'verify', '--archives', folder)).toMatch(
      /1 transactions.*\n3 transactions are in archives/,
    );
    expect(await run('ledger', 'archive', '--before', month, '--to', folder)).toMatch(/^nothing was posted before/);
    expect(await run('ledger', 'show')).toContain('closing');
    const [file = ''] = await readdir(folder);
    await writeFile(join(folder, file), '{}\n');
    await expect(run('ledger', 'verify', '--archives', folder)).rejects.toThrow(`${file} was changed`);
  });

  it('refuses the month that has not ended', async () => {
    const next = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, 1));
    await expect(
      run('ledger', 'archive', '--before', next.toISOString().slice(0, 7), '--to', join(home, 'other')),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });
});
