import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { startS3, type TestS3 } from '#test/s3';
import { type ArtifactStore, createArtifactStore, DownloadLinks } from '#storage';

/* Media as a worker would store it, served by the real API to holders of a link. */

const stores: [name: string, open: () => Promise<TestS3 | null>][] = [
  ['a folder', () => Promise.resolve(null)],
  ['a bucket', startS3],
];

describe.each(stores)('download links to media in %s', (_name, open) => {
  let server: TestS3 | null;
  let platform: Platform;
  let artifacts: ArtifactStore;
  let links: DownloadLinks;
  const video = randomBytes(3_000_000);

  beforeAll(async () => {
    server = await open();
    platform = await startPlatform({ env: server?.environment ?? {} });
    artifacts = createArtifactStore(server?.storage ?? { home: platform.home });
    links = new DownloadLinks(platform.secretKey);
  });
  afterAll(async () => {
    await artifacts.close();
    await platform.stop();
    await server?.close();
  });

  async function linked(): Promise<{ id: string; url: string }> {
    const { id } = await artifacts.put(video, { kind: 'result', contentType: 'video/mp4' });
    return { id, url: urlOf(id) };
  }

  const urlOf = (id: string): string => `${platform.baseUrl}/media/${links.tokenFor(id)}`;
  const errorOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code];

  it('serve it to anyone, whole or in ranges, with its type', async () => {
    const { url } = await linked();
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '3000000']);
    const whole = await fetch(url);
    expect(whole.status).toBe(200);
    expect(whole.headers.get('content-type')).toBe('video/mp4');
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="media.mp4"');
    expect(whole.headers.get('cache-control')).toBe('private, no-store');
    expect(Buffer.from(await whole.arrayBuffer()).equals(video)).toBe(true);
    const part = await fetch(url, { headers: { range: 'bytes=1000000-' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000000-2999999/3000000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(video.subarray(1_000_000))).toBe(true);
  });

  itInFull('stay valid after a restart of the API', async () => {
    const { url } = await linked();
    await platform.kill('api');
    await platform.start('api');
    expect((await fetch(url)).status).toBe(200);
  });

  it('return 404 before the media exists, and for invalid links', async () => {
    const id = artifacts.reserve('result');
    expect(await errorOf(await fetch(urlOf(id)))).toEqual([404, 'MEDIA_NOT_FOUND']);
    for (const token of ['nothing', `${id}.${'A'.repeat(43)}`, '%2e%2e%2fsecret.key', `${id}.`]) {
      expect(await errorOf(await fetch(`${platform.baseUrl}/media/${token}`))).toEqual([404, 'MEDIA_NOT_FOUND']);
    }
    await artifacts.putReserved(id, video, { contentType: 'video/mp4' });
    expect((await fetch(urlOf(id))).status).toBe(200);
  });

  it('return 410 once used up or revoked', async () => {
    const { url } = await linked();
    for (let download = 0; download < 5; download += 1) await (await fetch(url)).arrayBuffer();
    expect(await errorOf(await fetch(url))).toEqual([410, 'MEDIA_EXPIRED']);
    const other = await linked();
    expect(await (await fetch(other.url, { method: 'DELETE' })).json()).toEqual({ success: true });
    expect(await errorOf(await fetch(other.url))).toEqual([410, 'MEDIA_EXPIRED']);
    expect(await artifacts.find(other.id)).toBeNull();
  });

  it('return 429 after too many requests', async () => {
    const { url } = await linked();
    const answers = await Promise.all(Array.from({ length: 30 }, () => fetch(url, { method: 'HEAD' })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.headers.get('retry-after')).toBe('30');
  });

  it('survive a reader that disconnects midway', async () => {
    const { url } = await linked();
    const leaving = new AbortController();
    const answer = await fetch(url, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(`${platform.origin}/health/ready`)).status).toBe(200);
  });
});
