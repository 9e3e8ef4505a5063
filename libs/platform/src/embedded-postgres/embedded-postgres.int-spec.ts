import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, freePort, startEmbeddedPostgres } from './embedded-postgres.js';

async function query(url: string, sql: string, sourceAddress?: string): Promise<Record<string, unknown>[]> {
  const stream = sourceAddress === undefined ? {} : { stream: () => new SocketFrom(sourceAddress) };
  const client = new pg.Client({ connectionString: url, ...stream });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Connects from another address of this machine, as another machine does. */
class SocketFrom extends Socket {
  constructor(private readonly sourceAddress: string) {
    super();
  }

  override connect(...[port, host]: unknown[]): this {
    return super.connect({ port: Number(port), host: String(host), localAddress: this.sourceAddress });
  }
}

describe('startEmbeddedPostgres', () => {
  let folder: string;
  let server: EmbeddedPostgres | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice pg '));
  });

  afterEach(async () => {
    await server?.stop();
    server = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  it('serves from a private path with spaces and keeps its data across a restart', async () => {
    const dataFolder = join(folder, 'home of mine', 'postgres');
    server = await startEmbeddedPostgres({ dataFolder });
    await query(server.url, 'CREATE TABLE kept (value int)');
    await query(server.url, 'INSERT INTO kept VALUES (7)');
    await server.stop();
    server = await startEmbeddedPostgres({ dataFolder });
    expect(await query(server.url, 'SELECT value FROM kept')).toEqual([{ value: 7 }]);
    expect((await stat(folder)).mode & 0o077).toBe(0);
  });

  it('repairs rights that PostgreSQL refuses, such as those of a volume', async () => {
    const dataFolder = join(folder, 'data');
    server = await startEmbeddedPostgres({ dataFolder, durable: false });
    await server.stop();
    for (const mode of [0o2770, 0o755]) {
      await chmod(dataFolder, mode);
      server = await startEmbeddedPostgres({ dataFolder, durable: false });
      expect((await stat(dataFolder)).mode & 0o777).toBe(0o700);
      await server.stop();
    }
  });

  it('rejects a wrong password', async () => {
    server = await startEmbeddedPostgres({ dataFolder: join(folder, 'data'), durable: false });
    await expect(query(server.url.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/password/);
  });

  it.runIf(process.platform === 'linux')(
    'lets other machines in as roles of one prefix, and as no others',
    async () => {
      // The whole of 127.0.0.0/8 is this machine, and only 127.0.0.1 has rules of initdb.
      const remote = { host: '127.0.0.2', port: await freePort(), rolePrefix: 'far_' };
      server = await startEmbeddedPostgres({ dataFolder: join(folder, 'data'), durable: false, remote });
      expect(server.port).toBe(remote.port);
      for (const role of ['far_worker', 'near']) await query(server.url, `CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
      const from = (user: string, password = 'p') =>
        query(
          `postgresql://${user}:${password}@${remote.host}:${remote.port}/postgres`,
          'SELECT 1 AS one',
          remote.host,
        );
      expect(await from('far_worker')).toEqual([{ one: 1 }]);
      await expect(from('far_worker', 'wrong')).rejects.toThrow(/password/);
      await expect(from('near')).rejects.toThrow(/no pg_hba.conf entry/);
      await expect(from('sluice', server.password)).rejects.toThrow(/no pg_hba.conf entry/);
    },
  );

  it('does not start where it cannot listen', async () => {
    const remote = { host: '192.0.2.1', port: await freePort(), rolePrefix: 'far_' };
    const started = startEmbeddedPostgres({ dataFolder: join(folder, 'data'), durable: false, remote });
    await expect(started).rejects.toThrow(/cannot listen here: .*192\.0\.2\.1/);
  });

  it('takes over the folder from a server whose parent was killed', async () => {
    const dataFolder = join(folder, 'data');
    const orphan = await startEmbeddedPostgres({ dataFolder, durable: false });
    await query(orphan.url, 'CREATE TABLE kept (value int)');
    server = await startEmbeddedPostgres({ dataFolder, durable: false });
    expect(await query(server.url, 'SELECT * FROM kept')).toEqual([]);
    await expect(query(orphan.url, 'SELECT 1')).rejects.toThrow();
  });

  it('reports a port that is in use', async () => {
    const first = await startEmbeddedPostgres({ dataFolder: join(folder, 'one'), durable: false });
    try {
      await expect(
        startEmbeddedPostgres({ dataFolder: join(folder, 'two'), port: first.port, durable: false }),
      ).rejects.toThrow(/Address already in use/);
    } finally {
      await first.stop();
    }
  });
});
