import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';

/** Returns everything that a store holds and has logged: rows or keys, and its write-ahead log or append-only file. */
export async function dumpStore(url: string): Promise<Buffer> {
  return await (url.startsWith('redis') ? dumpRedis(url) : dumpPostgres(url));
}

async function dumpPostgres(url: string): Promise<Buffer> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const rows: string[] = [];
    for (const { name } of tables.rows) {
      const content = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      rows.push(...content.rows.map(({ row }) => row));
    }
    const folder = await client.query<{ data_directory: string }>('SHOW data_directory');
    const log = await filesOf(join(folder.rows[0]?.data_directory ?? '', 'pg_wal'));
    return Buffer.concat([Buffer.from(rows.join('\n')), ...log]);
  } finally {
    await client.end();
  }
}

async function dumpRedis(url: string): Promise<Buffer> {
  const redis = new Redis(url);
  try {
    // The append-only file holds every command; a rewrite adds a snapshot of what is there now.
    await redis.config('SET', 'appendfsync', 'always');
    const [, folder = ''] = (await redis.config('GET', 'dir')) as string[];
    const [, appendFolder = ''] = (await redis.config('GET', 'appenddirname')) as string[];
    const content: string[] = [];
    for (const key of await redis.keys('*')) content.push(key, JSON.stringify(await contentOf(redis, key)));
    const files = await filesOf(join(folder, appendFolder));
    return Buffer.concat([Buffer.from(content.join('\n')), ...files]);
  } finally {
    redis.disconnect();
  }
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return await redis.hgetall(key);
    case 'list':
      return await redis.lrange(key, 0, -1);
    case 'stream':
      return await redis.xrange(key, '-', '+');
    case 'string':
      return await redis.get(key);
    case 'set':
      return await redis.smembers(key);
    case 'zset':
      return await redis.zrange(key, '0', '-1');
    default:
      return null;
  }
}

async function filesOf(folder: string): Promise<Buffer[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  return await Promise.all(files.map((file) => readFile(file)));
}
