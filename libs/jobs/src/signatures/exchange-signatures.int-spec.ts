import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { DeleteExpiredSignaturesSweep } from './delete-expired-signatures.sweep.js';
import { ExchangeSignaturesRepository } from './exchange-signatures.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let repository: ExchangeSignaturesRepository;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  client = new pg.Client(database.url);
  await client.connect();
  repository = new ExchangeSignaturesRepository(prisma);
});
afterAll(async () => {
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});

const row = {
  requestId: 'r1',
  responseId: 'chatcmpl-r1',
  modelId: 'm',
  text: 'm:aa:bb',
  signature: '0x11',
  address: '0x22',
  receipt: '{"receipt_id":"1"}',
};

it('signatures come back to their account only, by either id, until they expire', async () => {
  const accountId = randomUUID();
  await client.query(`INSERT INTO accounts (id, name) VALUES ($1, 'owner')`, [accountId]);
  await repository.add(accountId, row, 60_000);
  await repository.add(accountId, { ...row, signature: '0x33' }, 60_000);
  await repository.add(
    accountId,
    { ...row, requestId: 'r2', responseId: 'r2', signature: null, address: null, receipt: null },
    1,
  );
  expect(await repository.find(accountId, 'r1')).toEqual(row);
  expect(await repository.find(accountId, 'chatcmpl-r1')).toEqual(row);
  expect(await repository.find(randomUUID(), 'r1')).toBeNull();
  await expect.poll(() => repository.find(accountId, 'r2')).toBeNull();
  expect(await new DeleteExpiredSignaturesSweep(repository).run()).toBe(1);
  expect((await client.query('SELECT request_id FROM exchange_signatures')).rows).toEqual([{ request_id: 'r1' }]);
});
