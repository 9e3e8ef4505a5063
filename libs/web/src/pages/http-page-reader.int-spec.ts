import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DocumentExtractor } from '#documents';
import { Egress } from '#egress';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { HttpPageReader } from './http-page-reader.js';
import type { WebPage } from './page-reader.js';
import { Robots } from './robots.js';

const article = `<!doctype html><html lang="de"><head><title>Schleusen &amp; Tore</title>
<meta name="description" content="Über Tore"><meta name="author" content="Ann Example"></head><body>
<nav><a href="/home">Home</a></nav>
<article><h1>Schleusen</h1><p>Eine <b>Schleuse</b> hebt <a href="../boats?kind=all#top">Boote</a>. Ünïcödé bleibt.
${'Wasser fließt durch das Tor. '.repeat(20)}</p><script>document.title = 'changed'</script></article>
<a href="javascript:alert(1)">no link</a></body></html>`;
const html = (charset = 'utf-8') => ({ 'content-type': `text/html; charset=${charset}` });
const links = (count: number) =>
  Array.from({ length: count }, (_, index) => `<li><a href="/page/${index}">Page number ${index}</a></li>`).join('');

const routes: Record<string, RequestListener> = {
  '/robots.txt': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end('User-agent: *\nDisallow: /private'),
  '/docs/article': (_request, response) => response.writeHead(200, html()).end(article),
  '/private': (_request, response) => response.writeHead(200, html()).end(article),
  '/moved': (_request, response) => response.writeHead(302, { location: '/docs/article' }).end(),
  '/inside': (_request, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
  '/latin': (_request, response) => response.writeHead(200, html('iso-8859-1')).end(Buffer.from(article, 'latin1')),
  '/wrong': (_request, response) =>
    response
      .writeHead(200, html('no-such-charset'))
      .end(Buffer.from(article.replace('<head>', '<head><meta charset="windows-1252">'), 'latin1')),
  '/markdown': (request, response) => {
    const isAsked = request.headers.accept?.startsWith('text/markdown') === true;
    response.writeHead(200, { 'content-type': 'text/markdown' }).end(isAsked ? '# Title\n\nText' : 'not asked');
  },
  '/links': (_request, response) =>
    response.writeHead(200, html()).end(`<html><body><article><p>${'Words. '.repeat(100)}</p>${links(10_000)}`),
  '/huge': (_request, response) => {
    response.writeHead(200, html());
    const part = Buffer.from('<p>paragraph</p>'.repeat(4_096));
    let left = 800;
    const more = (): void => {
      while (left > 0 && !response.destroyed) {
        left -= 1;
        if (!response.write(part)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  },
  '/bomb': (_request, response) =>
    response.writeHead(200, { ...html(), 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000))),
  '/image': (_request, response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x'),
  '/empty': (_request, response) => response.writeHead(200, html()).end('<html><body></body></html>'),
  '/deep': (_request, response) => response.writeHead(200, html()).end('<div>'.repeat(200_000)),
  '/blocked': (_request, response) => response.writeHead(403, html()).end('no robots'),
  '/silent': () => undefined,
};

const program = {
  modulePath: sourcePath('libs/documents/src/extractor/extract.main.ts'),
  nodeArguments: runSourceArguments,
};
const egress = new Egress({ allowedNetworks: ['127.0.0.0/8'] });
const reader = new HttpPageReader({
  egress,
  extractor: new DocumentExtractor({ program, process: { timeoutMs: 50_000 }, slots: { slotsPerOwner: 2 } }),
  robots: new Robots(egress),
});

describe('a page', () => {
  let server: Server;
  let base = '';

  beforeAll(async () => {
    server = createServer((request, response) => routes[request.url ?? '']?.(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const read = (path: string): Promise<WebPage> =>
    reader.read(`${base}${path}`, { owner: 'account', signal: new AbortController().signal });

  it('comes with title, content, links and metadata, after redirects', async () => {
    const page = await read('/moved');
    expect(page).toMatchObject({
      url: `${base}/docs/article`,
      title: 'Schleusen & Tore',
      links: [
        { text: 'Home', url: `${base}/home` },
        { text: 'Boote', url: `${base}/boats?kind=all` },
      ],
      metadata: { description: 'Über Tore', author: 'Ann Example', language: 'de' },
    });
    expect(page.markdown).toContain(`Eine **Schleuse** hebt [Boote](${base}/boats?kind=all#top). Ünïcödé bleibt.`);
    expect(page.markdown).not.toMatch(/Home|changed|script/);
  });

  it.each(['/latin', '/wrong'])('is decoded although it is not UTF-8: %s', async (path) => {
    expect((await read(path)).markdown).toContain('Ünïcödé bleibt.');
  });

  it('is taken as Markdown where a site has it', async () => {
    expect(await read('/markdown')).toMatchObject({ title: 'Title', markdown: '# Title\n\nText' });
  });

  it('may hold 10,000 links', async () => {
    const page = await read('/links');
    expect([page.links.length, page.links[499]?.url]).toEqual([500, `${base}/page/499`]);
  });

  it.each([
    ['/private', /robots.txt/],
    ['/inside', /not public/],
    ['/huge', /more than 10485760 bytes/],
    ['/bomb', /compressed/],
    ['/image', /another type/],
    ['/empty', /holds no text/],
    ['/deep', /nested too deeply/],
    ['/blocked', /status 403/],
  ])('is refused with a reason: %s', async (path, message) => {
    await expect(read(path)).rejects.toMatchObject({ reason: 'refused', message: expect.stringMatching(message) });
  });

  it.each(['ftp://example.org/', 'not a url', 'http://localhost.:1/', 'http://[::1]:1/', 'http://0x0a000001/'])(
    'is refused at %s',
    async (url) => {
      await expect(reader.read(url, { owner: 'account', signal: new AbortController().signal })).rejects.toMatchObject({
        reason: 'refused',
      });
    },
  );

  it('ends with its caller', async () => {
    const caller = new AbortController();
    const reading = reader.read(`${base}/silent`, { owner: 'account', signal: caller.signal });
    setImmediate(() => caller.abort(new Error('the caller left')));
    await expect(reading).rejects.toThrow('the caller left');
  });
});
