import pg from 'pg';
import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole } from './chat-caller.js';
import { amount, describeFault, eventually } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';

/* F7: PostgreSQL is killed during the transaction that settles a request. */

const trials = amount({ full: 20, quick: 4 });

/** A row that settling must wait for; each stops the transaction at another point. */
const places = [
  { name: 'the balance', statement: 'SELECT 1 FROM balances FOR UPDATE' },
  { name: 'the hold', statement: `SELECT 1 FROM holds WHERE state = 'open' FOR UPDATE` },
  { name: 'the spend of the key', statement: 'SELECT 1 FROM key_spend FOR UPDATE' },
  { name: 'the row of the job', statement: `SELECT 1 FROM jobs WHERE state IN ('queued', 'running') FOR UPDATE` },
];

/** Locks a row until the server is killed. */
async function lockRow(platform: Platform, statement: string): Promise<pg.Client> {
  const client = new pg.Client(platform.databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  await client.query('BEGIN');
  const { rowCount } = await client.query(statement);
  if (!rowCount) throw new Error('there is no row to lock');
  return client;
}

function isSettling(platform: Platform): Promise<boolean> {
  return platform
    .query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'sluice-ops' AND wait_event_type = 'Lock'`)
    .then((rows) => rows.length > 0);
}

describeFault('F7', { ownPostgres: true }, (running) => {
  it(`${trials} kills between the stored result and the commit of its settlement leave one charge each`, async () => {
    const platform = running();
    const requestIds: string[] = [];
    for (let trial = 0; trial < trials; trial += 1) {
      const { statement } = places[trial % places.length] ?? { statement: '' };
      await platform.kill('ops');
      const answer = await askWhole(platform, { directives: 'tokens=9', text: `Settle ${trial}` });
      expect(answer.status).toBe(200);
      requestIds.push(answer.requestId);
      const lockingClient = await lockRow(platform, statement);
      await platform.start('ops');
      await eventually('the settlement waits', () => isSettling(platform));
      await platform.postgres.stop({ signal: 'SIGQUIT' });
      await platform.postgres.start();
      await lockingClient.end().catch(() => undefined);
      await eventually('the row is closed', async () => {
        const rows = await platform.query(`SELECT 1 FROM jobs WHERE state IN ('queued', 'running')`).catch(() => [1]);
        return rows.length === 0;
      });
      await eventually('requests are accepted again', async () => {
        const { status } = await askWhole(platform, { directives: 'tokens=1', text: 'Back' });
        return status === 200;
      });
    }
    await platform.closedJobs();
    for (const ledgerState of await ledgerOf(platform, requestIds)) {
      expect(ledgerState).toMatchObject({
        state: 'succeeded',
        completionTokens: 9,
        reservationState: 'settled',
        charges: 1,
      });
      expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
    }
  }, 300_000);
});
