import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { testDouble } from '#test/test-double';
import { DeleteExpiredResponsesSweep } from './delete-expired-responses.sweep.js';
import { ResponseStates } from './response-states.js';
import { ResponseStatesRepository } from './response-states.repository.js';

const state = { response: { id: 'resp_1' }, items: [{ text: 'something only its owner may read' }] };

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let repository: ResponseStatesRepository;
let accountId: string;
let id: string;

function statesOf({
  secretKey = '7e'.repeat(32),
  storedResponsesMs = 60_000,
  maxAccountBytes = undefined as number | undefined,
} = {}): ResponseStates {
  const logger = createLogger('test', { level: 'silent' });
  return new ResponseStates(
    repository,
    testDouble({ secretKeys: [secretKey], storedResponsesMs }),
    logger,
    maxAccountBytes,
  );
}

async function expire(): Promise<void> {
  // The column rounds to milliseconds, which may be later than now.
  await client.query(`UPDATE response_states SET expires_at = now() - interval '1 ms' WHERE id = $1`, [id]);
}

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  client = new pg.Client(database.url);
  await client.connect();
  repository = new ResponseStatesRepository(prisma);
});
afterAll(async () => {
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});

beforeEach(async () => {
  [accountId, id] = [randomUUID(), `resp_${randomUUID()}`];
  await client.query(`INSERT INTO accounts (id, name) VALUES ($1, 'owner')`, [accountId]);
});

describe('stored responses', () => {
  it('come back to their account only', async () => {
    const states = statesOf();
    await states.add({ id, accountId }, state);
    expect(await states.find({ id, accountId })).toEqual(state);
    expect(await states.find({ id: `${id}0`, accountId })).toBeNull();
    expect(await states.find({ id, accountId: randomUUID() })).toBeNull();
    expect(await states.delete({ id, accountId: randomUUID() })).toBe(false);
    expect(await states.delete({ id, accountId })).toBe(true);
    expect(await states.delete({ id, accountId })).toBe(false);
    expect(await states.find({ id, accountId })).toBeNull();
  });

  it('are unreadable without the key, and in another row', async () => {
    await statesOf().add({ id, accountId }, state);
    const { rows } = await client.query<{ ciphertext: Buffer }>('SELECT ciphertext FROM response_states');
    expect(rows.filter(({ ciphertext }) => ciphertext.includes('only its owner'))).toEqual([]);
    expect(await statesOf({ secretKey: '7f'.repeat(32) }).find({ id, accountId })).toBeNull();
    await client.query('UPDATE response_states SET id = $1 WHERE id = $2', [`${id}0`, id]);
    expect(await statesOf().find({ id: `${id}0`, accountId })).toBeNull();
  });

  it('are deleted by the sweep when their time is over', async () => {
    const states = statesOf();
    await states.add({ id, accountId }, state);
    const sweep = new DeleteExpiredResponsesSweep(repository);
    await sweep.run();
    expect(await states.find({ id, accountId })).toEqual(state);
    await expire();
    expect(await states.find({ id, accountId })).toBeNull();
    expect(await states.delete({ id, accountId })).toBe(false);
    expect(await sweep.run()).toBe(1);
    expect((await client.query('SELECT FROM response_states WHERE id = $1', [id])).rowCount).toBe(0);
  });

  it('take a limited space per account', async () => {
    const states = statesOf({ maxAccountBytes: 200 });
    expect(await states.hasRoom(accountId)).toBe(true);
    await states.add({ id, accountId }, { text: Array.from({ length: 100 }, () => Math.random()) });
    expect(await states.hasRoom(accountId)).toBe(false);
    expect(await states.hasRoom(randomUUID())).toBe(true);
  });

  it('are off without a lifetime', () => {
    expect([statesOf({ storedResponsesMs: 0 }).isOn, statesOf().isOn]).toEqual([false, true]);
  });
});
