import { afterAll, beforeAll, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { SearchCacheRepository } from './search-cache.repository.js';

let database: TestDatabase;
let prisma: PrismaService;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

it('keeps the newest rows, and none that expired', async () => {
  const repository = new SearchCacheRepository(prisma);
  const bytes = (byte: number) => new Uint8Array([byte]);
  for (let row = 0; row < 5; row += 1) await repository.add(`row ${row}`, bytes(row), 60_000 + row);
  await repository.add('old', bytes(9), 0);
  await repository.add('row 0', bytes(7), 120_000);
  expect([await repository.find('old'), Buffer.from((await repository.find('row 0'))!)]).toEqual([
    null,
    Buffer.from([7]),
  ]);
  expect(await repository.trim(3)).toBe(3);
  const left = await Promise.all([0, 1, 2, 3, 4].map(async (row) => (await repository.find(`row ${row}`)) !== null));
  expect(left).toEqual([true, false, false, true, true]);
});
