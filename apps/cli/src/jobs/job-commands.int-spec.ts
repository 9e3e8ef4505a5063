import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { PrismaService } from '#platform/prisma';
import { runCommandLine } from '#test/command-line';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

let database: TestDatabase;
let prisma: PrismaService;
let accountId: string;
let key: string;

interface Row {
  id: string;
  state: string;
  /** Minutes ago. */
  admitted: number;
  deadlineIn?: number;
  model?: string;
  modality?: string;
}

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  const accounts = new AccountsService(new AccountsRepository(prisma));
  accountId = (await accounts.createAccount('tenant')).id;
  const made = await accounts.createKey({ accountId, kind: 'INFERENCE' });
  key = made.key;
  const rows: Row[] = [
    { id: 'a-TST', state: 'succeeded', admitted: 90 },
    { id: 'b-TST', state: 'queued', admitted: 5 },
    { id: 'c-TST', state: 'queued', admitted: 1 },
    { id: 'd-TST', state: 'running', admitted: 4, deadlineIn: -1, model: 'kokoro', modality: 'audio' },
    { id: 'e-TST', state: 'running', admitted: 3, model: 'kokoro', modality: 'direct' },
  ];
  for (const { id, state, admitted, deadlineIn = 60, model = 'tiny', modality = 'chat' } of rows) {
    await prisma.$executeRaw`
      INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, created_at, enqueued_at, deadline_at,
                        started_at, finished_at)
      SELECT ${id}, ${accountId}::uuid, ${made.record.id}::uuid, ${modality}, ${model}, ${state}::job_state, at, at,
             now() + ${deadlineIn}::float8 * interval '1 min',
             CASE WHEN ${state} = 'queued' THEN NULL ELSE at + interval '2 s' END,
             CASE WHEN ${state} = 'succeeded' THEN at + interval '3 s' END
        FROM (SELECT now() - ${admitted}::float8 * interval '1 min' AS at) times`;
  }
  await prisma.$executeRaw`
    INSERT INTO media_jobs (request_id, queue_id, model_id, progress_percent)
    VALUES ('d-TST', '00000000-0000-4000-8000-000000000007'::uuid, 'kokoro', 40)`;
  await prisma.jobResult.create({ data: { requestId: 'a-TST', attempt: 1, status: 'succeeded', applied: true } });
  await prisma.$executeRaw`UPDATE jobs SET prompt_tokens = 12, cached_tokens = 3, completion_tokens = 5, execution_ms = 80
    WHERE request_id = 'a-TST'`;
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const run = (...line: string[]) => runCommandLine(['jobs', ...line], { DATABASE_URL: database.url });
const listed = async (...filter: string[]) =>
  (JSON.parse(await run('list', '--json', ...filter)) as { requestId: string }[]).map(({ requestId }) => requestId[0]);

describe('sluice jobs list', () => {
  it('shows the newest first, with times and the code of the error', async () => {
    const [header, ...rows] = (await run('list')).trimEnd().split('\n');
    expect(header).toMatch(/^REQUEST +STATE +QUEUE +ACCOUNT +ADMITTED +WAITED +RAN +CODE$/);
    expect(rows.map((row) => row.slice(0, 5))).toEqual(['c-TST', 'e-TST', 'd-TST', 'b-TST', 'a-TST']);
    expect(rows.at(-1)).toMatch(/a-TST +succeeded +chat\.tiny +[0-9a-f-]{36} +\d{4}-\S+ +2\.0 s +1\.0 s +–/);
  });

  it.each<[string[], string[]]>([
    [
      ['--state', 'queued'],
      ['c', 'b'],
    ],
    [
      ['--state', 'queued', 'succeeded'],
      ['c', 'b', 'a'],
    ],
    [
      ['--model', 'kokoro'],
      ['e', 'd'],
    ],
    [
      ['--account', 'tenant', '--limit', '2'],
      ['c', 'e'],
    ],
    [
      ['--older-than', '4m'],
      ['d', 'b', 'a'],
    ],
    [['--older-than', '1h'], ['a']],
    [['--stuck'], ['d', 'b']],
    [['--stuck', '--state', 'running'], ['d']],
  ])('filters by %j', async (filter, expected) => {
    expect(await listed(...filter)).toEqual(expected);
  });

  it('says that nothing matches, and what is wrong with a filter', async () => {
    expect(await run('list', '--model', 'none')).toBe('no job is like that\n');
    await expect(run('list', '--older-than', '5 minutes')).rejects.toThrow('--older-than must be');
    await expect(run('list', '--limit', '0')).rejects.toThrow('--limit must be');
    await expect(run('list', '--account', 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('sluice jobs show', () => {
  it('shows the stages, the usage and the results of a job', async () => {
    const text = await run('show', 'a-TST');
    expect(text).toContain(`account   ${accountId}, key …${key.slice(-6)}`);
    expect(text).toMatch(/admitted +\S+ {2}\+0\.000 s\nenqueued +\S+ {2}\+0\.000 s\nstarted +\S+ {2}\+2\.000 s\n/);
    expect(text).toContain('usage     12 prompt tokens (3 cached), 5 completion tokens, 80 ms on the worker');
    expect(text).toContain('money     nothing reserved');
    expect(text).toMatch(/result 1 {2}succeeded, processed \d{4}/);
  });

  it('finds an async job by its queue id', async () => {
    const text = await run('show', '00000000-0000-4000-8000-000000000007');
    expect(text).toMatch(/request +d-TST\nqueue id +00000000/);
    expect(text).toContain('response  async, 40 %');
  });

  it('says where to look for a request without a row', async () => {
    await expect(run('show', 'nothing')).rejects.toThrow('Refused requests have none');
  });
});

describe('sluice jobs cancel', () => {
  it('refuses jobs that are over, run in the api, or cannot be reported without the key', async () => {
    await expect(run('cancel', 'a-TST')).rejects.toThrow('is over: it is succeeded');
    await expect(run('cancel', 'e-TST')).rejects.toThrow('An api replica runs e-TST itself');
    await expect(run('cancel', 'b-TST')).rejects.toThrow('Set SLUICE_SECRET_KEY');
  });
});
