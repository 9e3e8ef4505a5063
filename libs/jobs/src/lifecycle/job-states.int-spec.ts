import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import { newRequestId } from '#common';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { JobCloser } from './job-closer.js';
import type { ClosedState, ClosingStep } from './job-states.js';
import { JobsRepository } from './jobs.repository.js';

/** What the processes may do to a row, at any time and in any order. */
type Command =
  { kind: 'start' } | { kind: 'retry' } | { kind: 'close'; attempt: number; state: ClosedState; stepFails: boolean };

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant('start' as const) }),
  fc.record({ kind: fc.constant('retry' as const) }),
  fc.record({
    kind: fc.constant('close' as const),
    attempt: fc.integer({ min: 1, max: 4 }),
    state: fc.constantFrom<ClosedState>('succeeded', 'failed', 'cancelled', 'expired'),
    stepFails: fc.boolean(),
  }),
);

/** Commands of one batch run at the same time. */
const scenario = fc.array(fc.array(command, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 });

interface Row {
  state: string;
  attempt: number;
  payloads: number;
  finished: boolean;
}

describe('the states of a job', () => {
  let database: TestDatabase;
  let prisma: PrismaService;
  let client: pg.Client;
  let jobs: JobsRepository;
  let caller: Caller;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    prisma = new PrismaService({ url: database.url });
    client = new pg.Client(database.url);
    await client.connect();
    jobs = new JobsRepository(prisma);
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const keys = await accounts.bootstrap();
    caller = await accounts.authenticate(keys?.inferenceKey ?? '');
  });

  afterAll(async () => {
    await client.end();
    await prisma.$disconnect();
    await database.drop();
  });

  async function admit(): Promise<string> {
    const requestId = newRequestId('SIM');
    const ciphertext = new Uint8Array([1]);
    const fields = { modality: 'echo', modelId: 'm', stream: false, replyTo: null, deadlineMs: 60_000 };
    await jobs.transaction((transaction) => jobs.insert([{ requestId, caller, ...fields, ciphertext }], transaction));
    return requestId;
  }

  async function read(requestId: string): Promise<Row> {
    const { rows } = await client.query<Row>(
      `SELECT state::text, attempt, finished_at IS NOT NULL AS finished,
              (SELECT count(*)::int FROM job_payloads p WHERE p.request_id = j.request_id) AS payloads
         FROM jobs j WHERE request_id = $1`,
      [requestId],
    );
    const row = rows[0];
    if (!row) throw new Error('The row is gone.');
    return row;
  }

  async function run(requestId: string, each: Command, settled: string[]): Promise<void> {
    if (each.kind === 'start') return jobs.markRunning([requestId]);
    if (each.kind === 'retry') {
      const job = await jobs.find(requestId);
      if (job) await jobs.startNextAttempt(job);
      return;
    }
    const { attempt, state, stepFails } = each;
    const step: ClosingStep = {
      close: async (transaction, closed) => {
        await transaction.$queryRaw`SELECT 1`;
        if (stepFails) throw new Error('the ledger is away');
        settled.push(...closed.map((job) => `${job.attempt} ${state}`));
      },
    };
    const closing = { requestId, attempt, state, errorCode: null, usage: null, executionMs: 1 };
    await new JobCloser(jobs, [step]).close(closing).catch((error: unknown) => {
      if (!stepFails) throw error;
    });
  }

  it('keep the worker, the time to the first token, and the earlier of two times of their start', async () => {
    const [marked, unmarked] = [await admit(), await admit()];
    await client.query(`UPDATE jobs SET created_at = now() - interval '1 hour' WHERE request_id = ANY ($1)`, [
      [marked, unmarked],
    ]);
    await jobs.markRunning([marked]);
    const ended = { attempt: 1, state: 'succeeded', errorCode: null, usage: null, executionMs: 600_000 } as const;
    const closer = new JobCloser(jobs);
    await closer.close({ ...ended, requestId: marked, worker: 'default/worker-1', firstTokenMs: 1_000 });
    await closer.close({ ...ended, requestId: unmarked });
    const { rows } = await client.query(
      `SELECT worker, first_token_ms, extract(epoch FROM finished_at - started_at)::int AS seconds
         FROM jobs WHERE request_id = ANY ($1) ORDER BY worker`,
      [[marked, unmarked]],
    );
    expect(rows).toEqual([
      { worker: 'default/worker-1', first_token_ms: 1_000, seconds: 600 },
      { worker: null, first_token_ms: null, seconds: 600 },
    ]);
  });

  it('end once, settle once and never reopen, whatever happens concurrently', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (batches) => {
        const requestId = await admit();
        const settled: string[] = [];
        let before = await read(requestId);
        for (const batch of batches) {
          await Promise.all(batch.map((each) => run(requestId, each, settled)));
          const after = await read(requestId);
          const isOpen = after.state === 'queued' || after.state === 'running';
          expect(settled).toHaveLength(isOpen ? 0 : 1);
          expect(after.payloads).toBe(isOpen ? 1 : 0);
          expect(after.finished).toBe(!isOpen);
          if (!isOpen) expect(settled[0]).toBe(`${after.attempt} ${after.state}`);
          expect(after.attempt).toBeGreaterThanOrEqual(before.attempt);
          if (before.finished) expect(after).toEqual(before);
          // Only a new attempt waits again.
          if (before.state === 'running' && after.state === 'queued')
            expect(after.attempt).toBeGreaterThan(before.attempt);
          before = after;
        }
      }),
      { numRuns: 60 },
    );
  });
});
