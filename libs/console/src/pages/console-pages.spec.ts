import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addConsolePages, consolePolicy, prefersHtml } from './console-pages.js';

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const script = 'console.log(1);'.repeat(200);

let folder: string;
let server: FastifyInstance;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-console-'));
  server = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  addConsolePages(server, folder);
});

afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

async function buildConsole(title: string): Promise<void> {
  await mkdir(join(folder, 'assets'), { recursive: true });
  await writeFile(join(folder, 'assets', 'index-B8x0QkYt.js'), script);
  await writeFile(join(folder, 'index.html'), `<title>${title}</title>`);
}

const get = (url: string, headers: Record<string, string> = browser) => server.inject({ url, headers });

describe('the pages of the console', () => {
  it('say how to build them while they are not built, and are there after the build', async () => {
    const missing = await get('/console/');
    expect(missing.statusCode).toBe(503);
    expect(missing.body).toContain('npm run build');
    await buildConsole('first');
    expect((await get('/console/')).body).toBe('<title>first</title>');
    await buildConsole('second');
    await utimes(join(folder, 'index.html'), new Date(), new Date(Date.now() + 5_000));
    expect((await get('/console/')).body).toBe('<title>second</title>');
  });

  it('run nothing but their own scripts, and are asked for anew at each visit', async () => {
    await buildConsole('first');
    const { headers } = await get('/console/');
    expect(headers).toMatchObject({ 'content-security-policy': consolePolicy, 'cache-control': 'no-store' });
    expect(consolePolicy).not.toContain('unsafe');
    expect(consolePolicy).toContain("frame-ancestors 'none'");
  });

  it('have files that browsers keep, in gzip for those that take it', async () => {
    await buildConsole('first');
    const plain = await get('/console/assets/index-B8x0QkYt.js', {});
    expect(plain.body).toBe(script);
    expect(plain.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const packed = await get('/console/assets/index-B8x0QkYt.js', { 'accept-encoding': 'br, gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.rawPayload).toString()).toBe(script);
  });

  it.each(['/console/nothing.js', '/console/../package.json', '/console/%2e%2e%2fpackage.json', '/console/assets'])(
    'have nothing at %s',
    async (url) => {
      await buildConsole('first');
      expect((await get(url)).statusCode).not.toBe(200);
    },
  );

  it('are reached by relative redirects from the root and without the slash', async () => {
    for (const url of ['/', '/?x=1', '/console', '/console?x=1']) {
      const { statusCode, headers } = await get(url);
      expect([url, statusCode, headers.location]).toEqual([url, 303, 'console/']);
    }
  });

  it('are not offered to clients of the API', async () => {
    for (const accept of ['application/json', '*/*', '']) expect((await get('/', { accept })).statusCode).toBe(404);
    expect((await server.inject({ method: 'POST', url: '/', headers: browser })).statusCode).toBe(404);
  });
});

describe('prefersHtml', () => {
  it.each([
    [browser.accept, true],
    ['text/html;q=0.5, application/json;q=0.4', true],
    ['text/html;q=0.5, application/json', false],
    ['*/*', false],
    [undefined, false],
  ])('%s: %s', (accept, expected) => {
    expect(prefersHtml(accept)).toBe(expected);
  });
});
