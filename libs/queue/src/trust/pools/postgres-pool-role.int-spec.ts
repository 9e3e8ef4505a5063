import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '#platform/migrations';
import { startPostgres, type TestPostgres } from '#test/postgres';
import { createTransport } from '../../transport/create-transport.js';
import { PoolSessionGuard } from './pool-session-guard.js';
import { pause } from '../../contract/store-call.js';
import { done, echoJob, heartbeat, membership, settled, until } from '../../conformance/echo-job.conformance.js';
import { envelopeFor, sealKey } from '../../conformance/fixture.conformance.js';
import { describeJobs } from '../../conformance/jobs.conformance.js';
import { startPoolStore } from '../../conformance/pool-store.conformance.js';
import { describeTransport } from '../../transport.conformance.js';
import type { QueueTransport, TransportOptions } from '../../contract/transport.js';
import { poolKeys } from './pool-keys.js';
import { ensurePostgresPoolRole } from './postgres-pool-role.js';

const role = (modelIds: string[], namespace = 'pools') => ({
  namespace,
  pool: `p${randomBytes(3).toString('hex')}`,
  password: randomBytes(16).toString('hex'),
  modelIds,
  modalities: ['echo'],
});

// The other topics in which workers take part are in postgres-pool-role.nightly-spec.ts.
describeTransport('postgres whose workers have the role of their pool', startPoolStore, [describeJobs]);

describe('the PostgreSQL role of a pool', () => {
  let server: TestPostgres;
  const opened: QueueTransport[] = [];
  const clients: pg.Client[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    await migrate({ url: server.url });
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((transport) => transport.close()));
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });

  afterAll(() => server.close());

  const open = async (clientName: string, options: Partial<TransportOptions> = {}): Promise<QueueTransport> => {
    const common = { url: server.url, namespace: 'pools', sealKeys: [sealKey], membership, warn: () => undefined };
    const transport = await createTransport({ ...common, clientName, ...options });
    opened.push(transport);
    return transport;
  };

  const connect = async (url: string): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url, options: '-c search_path=pools_queue' });
    await client.connect();
    clients.push(client);
    return client;
  };

  /** Adds a job of another pool, one of the role's own and a job result. Nobody takes any of them. */
  const scene = async () => {
    const api = await open('api');
    await api.replies.start();
    const [victim, own] = [envelopeFor(api, { modelId: 'victim' }), envelopeFor(api)];
    await api.producer.enqueue(echoJob(), victim);
    await api.producer.enqueue(echoJob(), own);
    const { url } = await ensurePostgresPoolRole(server, role(['vict', 'tiny-1.5']));
    const worker = await open('worker', { url });
    await worker.results.report(honest(victim.requestId));
    return { victim, own, worker, client: await connect(url), admin: await connect(server.url) };
  };

  const honest = (requestId: string) => ({
    ...{ requestId, attempt: 1, modality: 'echo', modelId: 'victim', retries: 0, status: 'succeeded' as const },
    ...{ error: null, usage: null, executionMs: 1, finishedAtMs: 0 },
  });

  it('shows the jobs of its models and no other job, no result and no event', async () => {
    const { own, client, admin } = await scene();
    const all = await admin.query<{ queue: string }>('SELECT DISTINCT queue FROM job ORDER BY queue');
    expect(all.rows.map(({ queue }) => queue)).toEqual(['echo.tiny-1.5', 'echo.victim', 'job-results']);
    const seen = (await client.query<{ queue: string; id: string }>('SELECT queue, id FROM job')).rows;
    expect(seen).toContainEqual({ queue: 'echo.tiny-1.5', id: own.requestId });
    expect(new Set(seen.map(({ queue }) => queue))).toEqual(new Set(['echo.tiny-1.5']));
    for (const table of ['event', 'meta']) {
      const { rows } = await client.query<{ queue: string }>(`SELECT DISTINCT queue FROM ${table}`);
      expect(rows, table).toEqual([{ queue: 'echo.tiny-1.5' }]);
    }
  });

  it('takes, changes and deletes no job of others, not even through the functions of BullMQ', async () => {
    const { victim, client, admin } = await scene();
    const state = async () =>
      (await admin.query(`SELECT * FROM job WHERE queue IN ('echo.victim', 'job-results') ORDER BY queue`)).rows;
    const before = await state();
    for (const harmless of [
      `SELECT * FROM move_to_active('echo.victim', 't', 60000, ${Date.now()}, 'w', NULL, NULL)`,
      `SELECT * FROM move_to_active('job-results', 't', 60000, ${Date.now()}, 'w', NULL, NULL)`,
      `UPDATE job SET state = 'failed' WHERE queue <> 'echo.tiny-1.5'`,
      `DELETE FROM job WHERE queue <> 'echo.tiny-1.5'`,
      `SELECT remove('echo.victim', '${victim.requestId}', true)`,
      `DELETE FROM event WHERE queue = 'echo.victim'`,
      `SELECT 1 + obliterate('echo.victim', 1000, true)`,
    ]) {
      const { rows } = await client.query<Record<string, unknown>>(harmless);
      expect(
        rows.filter((row) => Object.values(row).some(Boolean)),
        harmless,
      ).toEqual([]);
    }
    for (const forbidden of [
      `UPDATE job SET queue = 'echo.victim' WHERE queue = 'echo.tiny-1.5'`,
      `UPDATE job SET parent_queue = 'echo.victim', parent_id = '${victim.requestId}'`,
      `INSERT INTO meta (queue, field, value) VALUES ('echo.victim', 'paused', '1')`,
      `INSERT INTO meta (queue, field, value) VALUES ('job-results', 'paused', '1')`,
      `SELECT pause('echo.victim', true)`,
      `SELECT add_job('echo.victim', 'forged', 'echo', '{}', '{}', 0, 0, 0, 1, NULL, NULL, NULL, NULL, NULL, false)`,
      `SELECT add_job('echo.tiny-1.5', 'x', 'x', '{}', '{}', 0, 0, 0, 1, 'echo.victim', '${victim.requestId}', 'k', NULL, NULL, false)`,
      `INSERT INTO job (queue, id, seq, name, state, added_at_ms) VALUES ('echo.victim', 'forged', 1, 'x', 'waiting', 0)`,
      `INSERT INTO job (queue, id, seq, name, state, added_at_ms) VALUES ('job-results', 'kept', 1, 'x', 'failed', 0)`,
      `INSERT INTO job_dependency VALUES ('echo.victim', '${victim.requestId}', 'echo.tiny-1.5', 'x', 'x', 'pending')`,
      `SELECT setval('job_seq', 1)`,
    ]) {
      await expect(client.query(forbidden), forbidden).rejects.toThrow(
        /permission denied|row-level security|missing parent/,
      );
    }
    expect(await state()).toEqual(before);
  });

  it('reads nothing of accounts, ledger and payloads, and changes no schema or role', async () => {
    const { client } = await scene();
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['public.accounts', 'public.ledger_entries', 'public.job_payloads']));
    for (const name of names) {
      await expect(client.query(`SELECT * FROM ${name}`), name).rejects.toThrow('permission denied');
    }
    for (const forbidden of [
      'CREATE TABLE mine (id int)',
      'CREATE TABLE public.mine (id int)',
      'CREATE SCHEMA mine',
      'CREATE ROLE mine',
      'ALTER TABLE job DISABLE ROW LEVEL SECURITY',
      `CREATE POLICY mine ON job USING (true)`,
      `UPDATE migration SET version = 99`,
      `COPY job TO PROGRAM 'true'`,
      `SELECT pg_read_file('PG_VERSION')`,
      'SET row_security = off; SELECT * FROM job',
      'SET ROLE postgres',
    ]) {
      await expect(client.query(forbidden), forbidden).rejects.toThrow(
        /permission denied|must be owner|row-level security/,
      );
    }
  });

  it('floods the results with what is dropped, and replays none under its name', async () => {
    const api = await open('api');
    const { worker, client } = await scene();
    const insert = `INSERT INTO job (queue, id, seq, name, state, data, opts, max_attempts, added_at_ms)
      SELECT 'job-results', 'junk-' || n, -n, 'junk', 'waiting', $1, $2, 2147483647, 0 FROM generate_series(1, 500) AS n`;
    const opts = {
      attempts: 1e9,
      parent: { id: 'x', queue: 'echo.victim' },
      repeat: { every: 1 },
      deduplication: { id: 'x' },
    };
    await client.query(insert, [{ results: 'none' }, opts]);
    await expect(client.query(insert, [{ results: [] }, opts])).rejects.toThrow('duplicate key');
    await worker.results.report(honest('after the flood'));
    const handled: string[] = [];
    await api.results.process(async ({ requestId }) => void handled.push(requestId));
    await until(() => handled.includes('after the flood'));
    await until(async () => (await api.results.pending()).underWay.length === 0);
    expect(await api.results.pending()).toEqual({ postponed: [], underWay: [] });
  });

  it('is heard as that pool alone, and keeps nobody from hearing the others', async () => {
    const api = await open('api');
    // Two commands may run at once.
    const roles = ['loud', 'quiet'].map((model) => ensurePostgresPoolRole(server, role([model])));
    const [loud, quiet] = (await Promise.all(roles)) as [{ url: string }, { url: string }];
    const client = await connect(loud.url);
    const flood = () =>
      client.query(`SELECT pg_notify('pools_heartbeat', 'x.' || n || '.0/1:s1 [null,"x",1,1,"AAAA"]' || chr(10) || n)
        FROM generate_series(1, 8000) AS n`);
    await flood();
    const worker = await open('worker', { url: quiet.url, sealKeys: poolKeys([sealKey], ['quiet']) });
    await worker.membership.join(() => heartbeat('quiet-worker', null));
    await until(async () => {
      await flood();
      return api.membership.list().some(({ processId }) => processId === 'quiet-worker');
    });
    expect(api.refusedMessages.get('flood')).toBeGreaterThan(1_000);
  });

  describe('that holds up others', () => {
    /** Opens a session that ignores its own end. */
    const holding = async (url: string, statements: string[]) => {
      const client = await connect(url);
      const ended = new Promise<void>((resolve) => client.on('error', () => undefined).once('end', resolve));
      for (const statement of statements) await client.query(statement);
      return { ended };
    };
    const guarded = async () => {
      const warnings: string[] = [];
      const ops = await open('ops', { guardsPools: true, warn: (message) => void warnings.push(message) });
      return { ops, warnings };
    };

    it.each([
      ['a lock of the table', ['BEGIN', 'LOCK TABLE job IN ACCESS EXCLUSIVE MODE']],
      ['an advisory lock of BullMQ', ['BEGIN', `SELECT pg_advisory_xact_lock(hashtext('bullmq:finalization'))`]],
      ['an advisory lock of its session', ['SELECT pg_advisory_lock(1)']],
      ['a transaction', ['BEGIN', 'LISTEN pools_heartbeat', 'SELECT 1']],
    ])('by %s loses its session', async (_name, statements) => {
      const { url } = await ensurePostgresPoolRole(server, role(['tiny-1.5']));
      const api = await open('api');
      const { ops } = await guarded();
      const { ended } = await holding(url, statements);
      const enqueued = until(async () =>
        settled(api.producer.enqueue(echoJob(), envelopeFor(api, { modelId: 'victim', replyTo: null }))),
      );
      await Promise.all([ended, enqueued]);
      await until(() => ops.poolSessions.get(new URL(url).username)?.ended === 1);
    });

    it('again and again may not connect any more, until its credentials are created again', async () => {
      const wanted = role(['tiny-1.5']);
      const { url } = await ensurePostgresPoolRole(server, wanted);
      const { ops, warnings } = await guarded();
      const refusal = async () => {
        for (;;) await (await holding(url, ['SELECT pg_advisory_lock(2)'])).ended;
      };
      await expect(refusal()).rejects.toThrow(/not permitted to log in|terminating|Connection terminated/);
      await until(() => warnings.some((message) => message.includes('is locked out')));
      expect(ops.poolSessions.get(new URL(url).username)).toEqual({ ended: 5, lockedOut: 1 });
      await expect(connect(url)).rejects.toThrow('not permitted to log in');
      await ensurePostgresPoolRole(server, wanted);
      await connect(url);
    }, 60_000);

    it('is watched over no connection that outlives its process', async () => {
      const guard = new PoolSessionGuard({ url: server.url, schema: 'pools_queue', warn: () => undefined });
      guard.start();
      await guard.close();
      await pause(300);
      const sql = `SELECT pid FROM pg_stat_activity WHERE application_name = 'sluice-pool-guard'`;
      expect((await (await connect(server.url)).query(sql)).rows).toEqual([]);
    });

    it('takes at most half of the connections of the server', async () => {
      const { url } = await ensurePostgresPoolRole(server, role(['tiny-1.5']));
      const { rows } = await (
        await connect(server.url)
      ).query<{ limit: number; half: number }>(
        `SELECT rolconnlimit AS "limit", current_setting('max_connections')::int / 2 AS half FROM pg_roles WHERE rolname = $1`,
        [new URL(url).username],
      );
      expect(rows[0]?.limit).toBe(rows[0]?.half);
    });
  });

  it('loses a model when its credentials are created again without it', async () => {
    await scene();
    const twice = { ...role(['tiny-1.5']), pool: 'moves' };
    const { url } = await ensurePostgresPoolRole(server, twice);
    const moved = await ensurePostgresPoolRole(server, { ...twice, modelIds: ['victim'] });
    expect(moved).toEqual({ url });
    const visible = await (await connect(url)).query<{ queue: string }>('SELECT DISTINCT queue FROM job');
    expect(visible.rows).toEqual([{ queue: 'echo.victim' }]);
  });

  it('is created by the database user when the owner of the queue may create no roles', async () => {
    const admin = await connect(server.url);
    await admin.query(`CREATE ROLE queue_owner LOGIN; CREATE SCHEMA own_queue AUTHORIZATION queue_owner`);
    const owner = Object.assign(new URL(server.url), { username: 'queue_owner' }).href;
    const wanted = role(['a'], 'own');
    await expect(ensurePostgresPoolRole({ url: owner }, wanted)).rejects.toThrow('DATABASE_URL');
    const { url } = await ensurePostgresPoolRole({ url: owner, adminUrl: server.url }, wanted);
    const worker = await open('worker', { url, namespace: 'own' });
    await worker.consume({ definition: echoJob(), modelId: 'a', handler: async () => done });
    const api = await open('api', { url: owner, namespace: 'own' });
    const results: string[] = [];
    await api.results.process(async ({ status }) => void results.push(status));
    await api.producer.enqueue(echoJob(), envelopeFor(api, { modelId: 'a', replyTo: null }));
    await until(() => results.length > 0);
    expect(results).toEqual(['succeeded']);
  });

  it('names what to do when the tables are older than the worker', async () => {
    const { client, admin } = await scene();
    const { user = '', password = '' } = client;
    await admin.query('DELETE FROM migration WHERE version > 1');
    const url = Object.assign(new URL(server.url), { username: user, password }).href;
    await expect(open('worker', { url }).then(() => 'opened')).rejects.toThrow(
      'start api or ops of this version, then run `sluice migrate`',
    );
  });
});
