import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DialTarget, Egress, type RemoteRequest } from './index.js';

const address = '93.184.215.14';

const routes: Record<string, RequestListener> = {
  '/image': (_request, response) => response.writeHead(200, { 'content-type': 'image/PNG; a=b' }).end('image'),
  '/untyped': (_request, response) => response.writeHead(200).end('something'),
  '/long': (_request, response) => response.writeHead(200, { 'content-length': 2_000 }).end(Buffer.alloc(2_000)),
  '/drip': (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 5);
    response.on('close', () => clearInterval(timer));
  },
  '/endless': (_request, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  },
  '/silent': () => undefined,
  '/cut': (_request, response) => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('half', () => response.destroy());
  },
  '/packed': (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1_000_000))),
  '/headers': (_request, response) => response.writeHead(200, { 'x-long': 'a'.repeat(20_000) }).end(),
  '/missing': (_request, response) => response.writeHead(404).end('not here'),
  '/echo': (request, response) => response.writeHead(200).end(JSON.stringify(request.headers)),
  '/moved': (_request, response) => response.writeHead(302, { location: '/image' }).end(),
};

describe('Egress', () => {
  let server: Server;
  let port = 0;
  let dialed: DialTarget[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => routes[request.url ?? '']?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    dialed = [];
  });

  const egress = new Egress({
    resolver: (host) =>
      host === 'slow.example' ? new Promise(() => undefined) : Promise.resolve([{ address, family: 4 }]),
    dialer: (target) => {
      dialed.push(target);
      return Promise.resolve(connect({ host: '127.0.0.1', port }));
    },
  });
  const read = (path: string, options: Partial<RemoteRequest> = {}) =>
    egress.read({ url: `http://public.example${path}`, owner: 'account', maxBytes: 1_000, ...options });

  it('connects to the address that it checked', async () => {
    expect(await read('/image')).toEqual({
      url: 'http://public.example/image',
      contentType: 'image/png',
      charset: '',
      bytes: Buffer.from('image'),
    });
    expect(dialed).toEqual([{ address, family: 4, port: 80, serverName: null }]);
  });

  it("dials the URL's port and sends its server name", async () => {
    await read('/image', { url: 'http://public.example:8080/image' });
    expect(dialed[0]).toMatchObject({ port: 8080 });
    await read('/image', { url: 'https://public.example/image' }).catch(() => undefined);
    expect(dialed[1]).toEqual({ address, family: 4, port: 443, serverName: 'public.example' });
  });

  it('reveals nothing about the client, and requests uncompressed content', async () => {
    const { bytes } = await read('/echo', { headers: { accept: 'image/*' } });
    expect(JSON.parse(bytes.toString())).toEqual({
      host: 'public.example',
      connection: 'keep-alive',
      'user-agent': 'sluice',
      accept: 'image/*',
      'accept-encoding': 'identity',
    });
  });

  it('accepts the requested content types', async () => {
    expect((await read('/image', { contentTypes: ['video/mp4', 'image/*'] })).contentType).toBe('image/png');
    for (const path of ['/image', '/untyped']) {
      await expect(read(path, { contentTypes: ['video/mp4'], param: 'video_url' })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        param: 'video_url',
        message: 'video_url leads to content of another type than video/mp4.',
      });
    }
    expect((await read('/untyped')).contentType).toBe('');
  });

  it('stops at the first byte over the limit, announced or not', async () => {
    for (const path of ['/long', '/endless']) {
      await expect(read(path, { maxBytes: 1_999 })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    }
    expect((await read('/long', { maxBytes: 2_000 })).bytes).toHaveLength(2_000);
  });

  it.each(['/packed', '/headers', '/missing', '/cut'])('refuses %s', async (path) => {
    await expect(read(path)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('times out during lookup, wait and read', async () => {
    const timedOut = { code: 'INVALID_REQUEST', message: 'The URL did not answer in time.' };
    for (const path of ['/silent', '/drip']) {
      await expect(read(path, { timeoutMs: 100 })).rejects.toMatchObject(timedOut);
    }
    await expect(read('', { url: 'http://slow.example/', timeoutMs: 50 })).rejects.toMatchObject(timedOut);
  });

  it('stops when its signal aborts', async () => {
    const stop = new AbortController();
    const reading = read('/drip', { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('nobody waits')), 50);
    await expect(reading).rejects.toThrow('nobody waits');
    await expect(read('/image', { signal: stop.signal })).rejects.toThrow('nobody waits');
  });

  it('follows redirects up to the limit', async () => {
    expect((await read('/moved')).url).toBe('http://public.example/image');
    await expect(read('/moved', { maxRedirects: 0 })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('streams the content as it arrives', async () => {
    const { body, totalBytes } = await egress.open({
      url: 'http://public.example/endless',
      owner: 'account',
      maxBytes: 1e9,
    });
    expect(totalBytes).toBeNull();
    for await (const part of body) {
      expect((part as Buffer).length).toBeGreaterThan(0);
      break;
    }
    expect(body.destroyed).toBe(true);
  });

  it('tries the other addresses of a host when one does not respond', async () => {
    const tried: string[] = [];
    const patient = new Egress({
      resolver: () => Promise.resolve(['8.8.8.8', '8.8.4.4', address].map((each) => ({ address: each, family: 4 }))),
      dialer: (target) => {
        tried.push(target.address);
        if (target.address !== address) return Promise.reject(new Error('refused'));
        return Promise.resolve(connect({ host: '127.0.0.1', port }));
      },
    });
    expect(
      (await patient.read({ url: 'http://public.example/image', owner: 'account', maxBytes: 100 })).bytes.toString(),
    ).toBe('image');
    expect(tried).toEqual(['8.8.8.8', '8.8.4.4', address]);
  });
});
