import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installTinyImages } from '#test/tiny-images';

/*
 * F18 through the real API, on this machine only: the operator allows 127.0.0.2, which acts as the public internet, and
 * a sentinel on 127.0.0.1 and ::1 detects connections to the inside. libs/egress tests other addresses without
 * connecting.
 */

describe('F18: URLs that lead to internal addresses', () => {
  let home: string;
  let platform: Platform;
  let site: HttpServer;
  let sitePort = 0;
  let sentinel: Server;
  let inner = 0;
  let visitors = 0;
  let target = '';
  let image: Buffer;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const manifests = await installTinyImages(home);
    platform = await startPlatform({
      engine: 'text',
      home,
      manifests,
      env: { SLUICE_EGRESS_NETWORKS: '127.0.0.2/32' },
    });
    // Half transparent: the model repairs the missing part.
    const data = new Uint8Array(256 * 256 * 4).map((_, index) => (index % 4 === 3 && index < 131_072 ? 0 : 90));
    image = await encodeImage({ width: 256, height: 256, channels: 4, data }, { format: 'png' });
    site = createHttpServer((request, response) => {
      const [, status] = /^\/(30\d)$/.exec(request.url ?? '') ?? [];
      if (status === undefined) response.writeHead(200, { 'content-type': 'image/png' }).end(image);
      else response.writeHead(Number(status), { location: target }).end();
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.2', resolve));
    sitePort = (site.address() as AddressInfo).port;
    sentinel = createServer((socket) => {
      visitors += 1;
      socket.destroy();
    });
    // Every IPv4 and IPv6 address of this machine.
    await new Promise<void>((resolve) => sentinel.listen(0, '::', resolve));
    inner = (sentinel.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await platform.closedJobs();
    await expectInvariant(platform);
    await platform.stop();
    site.close();
    sentinel.close();
    await rm(home, { recursive: true, force: true });
  });
  beforeEach(() => {
    visitors = 0;
  });

  interface Refusal {
    status: number;
    code: string;
  }

  async function post(path: string, body: object): Promise<Refusal> {
    const response = await fetch(`${platform.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status === 200) await response.arrayBuffer();
    const { code = '' } = response.status === 200 ? {} : ((await response.json()) as { code?: string });
    return { status: response.status, code };
  }

  /** As the image of an edit, and as a page to read. */
  const edit = (image: string): Promise<Refusal> => post('/image/edit', { prompt: 'a wall', image });
  const scrape = (url: string): Promise<Refusal> => post('/augment/scrape', { url });
  const refused = { status: 400, code: 'INVALID_REQUEST' };

  const hosts = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '017700000001', '0x7f.0.0.1', '0177.0.0.01', '127.0.1'],
    ...['0', '0.0.0.0', '127.0.0.3', '127.255.255.254', '①②⑦.0.0.1', '127。0。0。1', '%31%32%37.0.0.1', 'localhost'],
    ...['LOCALHOST.', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[0:0:0:0:0:0:0:1]'],
  ];

  it('are rejected for every spelling of this machine, without a connection', async () => {
    for (const host of hosts) {
      for (const url of [
        `http://${host}:${inner}/`,
        `https://${host}:${inner}/a.png`,
        `http://a:b@${host}:${inner}/`,
      ]) {
        expect([await edit(url), await scrape(url)], url).toEqual([refused, refused]);
      }
    }
    expect(visitors).toBe(0);
  });

  it('are rejected for other schemes', async () => {
    for (const url of ['file:///etc/passwd', `gopher://127.0.0.1:${inner}/_`, `ftp://127.0.0.1:${inner}/`, 'ws://a/']) {
      expect([await edit(url), await scrape(url)], url).toEqual([refused, refused]);
    }
    expect(visitors).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])('are not followed when a %i of a public site leads there', async (status) => {
    const url = `http://127.0.0.2:${sitePort}`;
    // Headers are ASCII.
    for (const host of hosts.filter((each) => /^[!-~]+$/.test(each))) {
      target = `http://${host}:${inner}/`;
      const page = `${url}/${status}`;
      expect([await edit(page), await scrape(page)], target).toEqual([refused, refused]);
    }
    expect(visitors).toBe(0);
    target = '/image.png';
    expect((await edit(`${url}/${status}`)).status).toBe(200);
  });

  it('would be detected: the sentinel sees a connection', async () => {
    await fetch(`http://127.0.0.1:${inner}/`).catch(() => undefined);
    expect(visitors).toBe(1);
  });
});
