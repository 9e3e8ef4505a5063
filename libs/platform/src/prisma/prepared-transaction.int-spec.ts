import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, startPostgres, type TestDatabase } from '#test/postgres';
import { Prisma } from './generated/client.js';
import { PrismaService } from './prisma.service.js';

describe('a prepared transaction', () => {
  let database: TestDatabase;
  let prisma: PrismaService;

  beforeEach(async () => {
    database = await createTestDatabase();
    // One connection, so that the next statement sees whatever a test leaves on it.
    prisma = new PrismaService({ url: database.url, poolSize: 1 });
    await prisma.$executeRaw`CREATE TABLE things (id bigint PRIMARY KEY, name text, made timestamptz, bytes bytea)`;
  });

  afterEach(async () => {
    await prisma.$disconnect();
    await database.drop();
  });

  it('reads and writes the same values as Prisma', async () => {
    const made = new Date('2026-11-21T10:00:00.123Z');
    const bytes = new Uint8Array([0, 1, 255]);
    const rows = await prisma.$prepared(async (transaction) => {
      const values = Prisma.sql`(${2n}, ${'two'}, ${made}, ${bytes})`;
      expect(await transaction.$executeRaw`INSERT INTO things VALUES (${1n}, ${null}, ${made}, ${bytes})`).toBe(1);
      expect(await transaction.$executeRaw(Prisma.sql`INSERT INTO things VALUES ${values}`)).toBe(1);
      return transaction.$queryRaw`SELECT * FROM things WHERE id = ANY (${[1, 2]}::bigint[]) ORDER BY id`;
    });
    expect(rows).toEqual([
      { id: 1n, name: null, made, bytes: Buffer.from(bytes) },
      { id: 2n, name: 'two', made, bytes: Buffer.from(bytes) },
    ]);
    const prismas = await prisma.$queryRaw<{ bytes: Uint8Array }[]>`SELECT * FROM things ORDER BY id`;
    expect(prismas.map((row) => ({ ...row, bytes: Buffer.from(row.bytes) }))).toEqual(rows);
  });

  it('prepares a statement once for all transactions of a connection', async () => {
    const add = (id: number) =>
      prisma.$prepared((transaction) => transaction.$executeRaw`INSERT INTO things (id) VALUES (${id})`);
    for (const id of [1, 2, 3]) await add(id);
    const prepared = await prisma.$queryRaw<{ statement: string }[]>`
      SELECT statement FROM pg_prepared_statements WHERE name LIKE 'sluice_%' AND statement LIKE 'INSERT INTO things%'`;
    expect(prepared).toEqual([{ statement: 'INSERT INTO things (id) VALUES ($1)' }]);
  });

  it('rolls back when its work rejects, for any reason', async () => {
    const insert = (id: number, then: () => void) =>
      prisma.$prepared(async (transaction) => {
        await transaction.$executeRaw`INSERT INTO things (id) VALUES (${id})`;
        then();
        await transaction.$executeRaw`INSERT INTO things (id) VALUES (${id})`;
      });
    await expect(insert(1, () => undefined)).rejects.toThrow('duplicate key');
    const refuse = () => {
      throw new Error('no');
    };
    await expect(insert(2, refuse)).rejects.toThrow('no');
    expect(await prisma.$queryRaw`SELECT count(*) AS count FROM things`).toEqual([{ count: 0n }]);
    expect(await prisma.$prepared((transaction) => transaction.$queryRaw`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
  });

  it('commits with its last statement and allows no further one', async () => {
    await expect(
      prisma.$prepared(async (transaction) => {
        await transaction.$executeRaw`INSERT INTO things (id) VALUES (1)`;
        await transaction.last.$executeRaw`INSERT INTO things (id) VALUES (2)`;
        await transaction.$executeRaw`INSERT INTO things (id) VALUES (3)`;
      }),
    ).rejects.toThrow('has ended');
    expect(await prisma.$queryRaw`SELECT id FROM things ORDER BY id`).toEqual([{ id: 1n }, { id: 2n }]);
  });

  it('rolls back when its last statement fails, and reports why', async () => {
    const insert = (id: number) =>
      prisma.$prepared(async (transaction) => {
        await transaction.$executeRaw`INSERT INTO things (id) VALUES (${id})`;
        await transaction.last.$executeRaw`INSERT INTO things (id) VALUES (7)`;
      });
    await insert(1);
    await expect(insert(2)).rejects.toThrow('duplicate key');
    expect(await prisma.$queryRaw`SELECT id FROM things ORDER BY id`).toEqual([{ id: 1n }, { id: 7n }]);
    // The connection is usable again.
    expect(await prisma.$prepared((transaction) => transaction.$queryRaw`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
  });

  it('rejects when the server rolls back instead of committing', async () => {
    await prisma.$executeRaw`CREATE TABLE pairs (id int PRIMARY KEY, other int REFERENCES pairs DEFERRABLE INITIALLY DEFERRED)`;
    await expect(
      prisma.$prepared((transaction) => transaction.last.$executeRaw`INSERT INTO pairs VALUES (1, 2)`),
    ).rejects.toThrow('foreign key');
    const swallowed = prisma.$prepared(async (transaction) => {
      await transaction.$executeRaw`INSERT INTO pairs VALUES (1, 1)`;
      await transaction.$executeRaw`INSERT INTO pairs VALUES (1, 1)`.catch(() => undefined);
    });
    await expect(swallowed).rejects.toThrow('rolled back');
    expect(await prisma.$queryRaw`SELECT * FROM pairs`).toEqual([]);
  });

  it('retries after a table change invalidated a statement', async () => {
    const read = () => prisma.$prepared((transaction) => transaction.$queryRaw`SELECT * FROM things`);
    await read();
    await prisma.$executeRaw`ALTER TABLE things ADD COLUMN more text`;
    await expect(read()).rejects.toThrow('cached plan');
    expect(await read()).toEqual([]);
  });
});

describe('a prepared transaction when the server goes down', () => {
  it('fails, and the next one works when the server is back', async () => {
    const server = await startPostgres();
    const prisma = new PrismaService({ url: server.url, poolSize: 2 });
    const one = () => prisma.$prepared((transaction) => transaction.$queryRaw`SELECT 1 AS one`);
    try {
      const interrupted = prisma.$prepared(async (transaction) => {
        await transaction.$queryRaw`SELECT 1 AS one`;
        await server.stop({ signal: 'SIGKILL' });
        return transaction.$queryRaw`SELECT 1 AS one`;
      });
      await expect(interrupted).rejects.toThrow();
      await expect(one()).rejects.toThrow();
      await server.start();
      await expect.poll(() => one().catch(() => 'down'), { timeout: 20_000 }).toEqual([{ one: 1 }]);
    } finally {
      await prisma.$disconnect();
      await server.close();
    }
  });
});
