import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { type ArtifactStore, createArtifactStore, DownloadLinks } from '#storage';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { DownloadLinksRepository } from './download-links.repository.js';
import { DownloadService } from './download.service.js';
import { DeleteExpiredLinksSweep } from './delete-expired-links.sweep.js';

const secretKey = '5c'.repeat(32);
const home1 = '203.0.113.7';
const over = { code: 'MEDIA_EXPIRED' };
const missing = { code: 'MEDIA_NOT_FOUND' };

describe('download links', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let folder: string;
  let prisma: PrismaService;
  let artifacts: ArtifactStore;
  let downloads: DownloadService;
  const links = new DownloadLinks(secretKey);

  beforeAll(async () => {
    database = await createMigratedDatabase();
    client = new pg.Client(database.url);
    await client.connect();
    folder = await mkdtemp(join(tmpdir(), 'sluice-links-'));
    prisma = new PrismaService({ url: database.url });
    artifacts = createArtifactStore({ home: folder });
    downloads = replica();
  });
  afterAll(async () => {
    await prisma.$disconnect();
    await client.end();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Another api process, or the same one after a restart. */
  function replica(): DownloadService {
    const repository = new DownloadLinksRepository(prisma);
    return new DownloadService(new DownloadLinks(secretKey), artifacts, repository);
  }

  async function linked(text = 'video'): Promise<{ id: string; token: string }> {
    const { id } = await artifacts.put(Buffer.from(text), { kind: 'result', contentType: 'video/mp4' });
    return { id, token: links.tokenFor(id) };
  }

  async function read(token: string, { ip = home1, from = downloads } = {}): Promise<string> {
    const { stream } = await from.open(token, ip, () => undefined);
    return Buffer.concat((await stream.toArray()) as Buffer[]).toString();
  }

  /** Lets the window of requests pass. */
  async function wait(): Promise<void> {
    await client.query(`UPDATE download_links SET window_start = window_start - interval '31 s'`);
  }

  it('deliver the media, after a restart too, and ranges of it', async () => {
    const { token } = await linked();
    expect(await downloads.look(token)).toMatchObject({ bytes: 4, contentType: 'video/mp4' });
    expect(await read(token)).toBe('video');
    expect(await read(token, { from: replica() })).toBe('video');
    const { stream } = await downloads.open(token, home1, (bytes) => ({ first: 1, last: bytes - 1 }));
    expect(Buffer.concat((await stream.toArray()) as Buffer[]).toString()).toBe('ilm');
  });

  it('lead nowhere until there is a result, and use up nothing meanwhile', async () => {
    const id = artifacts.reserve('result');
    const token = links.tokenFor(id);
    for (let look = 0; look < 10; look += 1) await expect(read(token)).rejects.toMatchObject(missing);
    await artifacts.putReserved(id, Buffer.from('late'), { contentType: 'video/mp4' });
    expect(await read(token)).toBe('late');
  });

  it('are used up after a few downloads, whatever the concurrency', async () => {
    const { token } = await linked();
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => read(token)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    await wait();
    await expect(read(token)).rejects.toMatchObject(over);
  });

  it('belong to the network that used them first', async () => {
    const { token } = await linked();
    await read(token, { ip: '203.0.113.7' });
    await read(token, { ip: '203.0.113.200' });
    await read(token, { ip: '::ffff:203.0.113.9' });
    await expect(read(token, { ip: '198.51.100.1' })).rejects.toMatchObject(over);
    const other = await linked();
    await read(other.token, { ip: '2001:db8:1:2::3' });
    await read(other.token, { ip: '2001:db8:1:ffff::3' });
    await expect(read(other.token, { ip: '2001:db8:2::3' })).rejects.toMatchObject(over);
  });

  it('return 429 to excessive requests, and respond again later', async () => {
    const { token } = await linked();
    for (let look = 0; look < 20; look += 1) await downloads.look(token);
    await expect(downloads.look(token)).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retry: { afterSeconds: 30 },
    });
    await expect(read(token)).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await wait();
    expect(await read(token)).toBe('video');
  });

  it('end when they are revoked, together with their media', async () => {
    const { id, token } = await linked();
    await downloads.revoke(token);
    await downloads.revoke(token);
    await expect(read(token)).rejects.toMatchObject(over);
    expect(await artifacts.find(id)).toBeNull();
  });

  it('are signed: any other is missing, without a database query', async () => {
    const { id, token } = await linked();
    const foreign = new DownloadLinks('ab'.repeat(32)).tokenFor(id);
    for (const wrong of [foreign, `${token}x`, token.slice(0, -1), id, `${id}.`, '', '../../etc/passwd', `x${token}`]) {
      await expect(read(wrong)).rejects.toMatchObject(missing);
      await expect(downloads.revoke(wrong)).rejects.toMatchObject(missing);
    }
  });

  it('expire with their media, and are deleted then', async () => {
    const clock = { nowMs: () => Date.now() + 90_000_000, monotonicMs: () => 0 };
    const { token } = await linked();
    await read(token);
    expect(() => new DownloadLinks(secretKey, clock).read(token)).toThrowError(expect.objectContaining(over) as Error);
    const sweep = new DeleteExpiredLinksSweep(new DownloadLinksRepository(prisma));
    const count = async () => Number((await client.query('SELECT count(*) FROM download_links')).rows[0]?.count);
    const before = await count();
    expect(await sweep.run()).toBe(0);
    await client.query(`UPDATE download_links SET expires_at = now() - interval '2 h'`);
    expect(await sweep.run()).toBe(before);
    expect(await count()).toBe(0);
  });
});
