import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DialTarget, Egress } from './index.js';

describe('Egress', () => {
  let server: Server;
  let port = 0;
  const dialed: DialTarget[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const path = request.url ?? '';
      if (path.startsWith('/to?')) response.writeHead(302, { location: decodeURIComponent(path.slice(4)) }).end();
      else if (path === '/long') response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(2_000));
      else response.writeHead(200, { 'content-type': 'image/png' }).end('picture');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => void server.close());

  const names: Record<string, string[]> = { 'public.example': ['93.184.216.34'], 'inside.example': ['10.0.0.1'] };
  const egress = new Egress({
    resolver: (host) => Promise.resolve((names[host] ?? []).map((address) => ({ address, family: 4 as const }))),
    dialer: (target) => {
      dialed.push(target);
      return Promise.resolve(connect({ host: '127.0.0.1', port }));
    },
  });

  it('fetches from the address it judged', async () => {
    dialed.length = 0;
    const file = await egress.read({ url: 'http://public.example/a.png', maxBytes: 1_000, contentTypes: ['image/*'] });
    expect(file).toMatchObject({ contentType: 'image/png', bytes: Buffer.from('picture') });
    expect(dialed).toEqual([{ address: '93.184.216.34', family: 4, port: 80, serverName: null }]);
  });

  it('follows a redirect after judging it, and none inside', async () => {
    const to = (url: string) => `http://public.example/to?${encodeURIComponent(url)}`;
    const good = await egress.read({ url: to('/a.png'), maxBytes: 1_000 });
    expect(good.url).toBe('http://public.example/a.png');
    dialed.length = 0;
    await expect(
      egress.read({ url: to('http://inside.example/'), maxBytes: 1_000, param: 'image_url' }),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'image_url' });
    expect(dialed).toHaveLength(1);
  });

  it('stops at the first byte too many', async () => {
    await expect(egress.read({ url: 'http://public.example/long', maxBytes: 1_999 })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  });
});
