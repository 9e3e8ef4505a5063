import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { readCommandLine } from '#command-line';
import { newContext, startBrowser, watchPage } from '../console/browser.js';

const about = `npm test -- site

Builds the site of the documentation below a path, which fails for dead links, and uses it in chromium as a reader does:
searches, opens the first result, follows the navigation to the reference of the API, and sees the images.`;
readCommandLine(about);

const base = '/sluice/';
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/** Serves the files of a folder below `base`, as any server of static files does. */
async function serve(folder: string): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const path = pathname.startsWith(base) ? pathname.slice(base.length) : '404.html';
    const file = path === '' || path.endsWith('/') ? `${path}index.html` : path;
    readFile(join(folder, file)).then(
      (body) => response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream').end(body),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
  process.stdout.write(`ok  ${what}\n`);
}

/** Types words into the search and opens its first result. */
async function search(page: Page, words: string): Promise<string> {
  await page.locator('#local-search button').first().click();
  await page.locator('.VPLocalSearchBox input').fill(words);
  await page.locator('.VPLocalSearchBox .result').first().waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.VPLocalSearchBox').waitFor({ state: 'detached' });
  return new URL(page.url()).pathname;
}

async function read(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}${base}`);
  const found = await search(page, 'reservations are not closed');
  expectThat(found === `${base}runbooks/reservations-not-closed.html`, 'the search finds a runbook by its title');
  await page.locator('.VPNavBarMenu').getByText('API reference', { exact: true }).click();
  await page.locator('h1', { hasText: 'API reference' }).waitFor();
  await page.locator('.vp-doc').getByRole('link', { name: 'Embeddings', exact: true }).click();
  await page.locator('h2', { hasText: 'Embed texts' }).waitFor();
  expectThat((await page.locator('.vp-doc code').first().textContent()) === 'POST /api/v1/embeddings', 'an operation');
  await page.goto(`${origin}${base}guides/console-views.html`);
  const widths = await page.locator('.vp-doc img').evaluateAll(async (images) =>
    Promise.all(
      (images as unknown as { decode(): Promise<void>; naturalWidth: number }[]).map(async (image) => {
        await image.decode();
        return image.naturalWidth;
      }),
    ),
  );
  expectThat(widths.length > 4 && widths.every((width) => width > 0), `${widths.length} images of a page`);
}

const folder = await mkdtemp(join(tmpdir(), 'sluice-site-'));
const browser = await startBrowser();
try {
  const program = fileURLToPath(new URL('../../scripts/site.mjs', import.meta.url));
  const { status } = spawnSync(process.execPath, [program, '--out', folder, '--base', base], { stdio: 'inherit' });
  if (status !== 0) throw new Error('npm run site failed.');
  const server = await serve(folder);
  const page = await (await newContext(browser)).newPage();
  const watch = watchPage(page);
  await read(page, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const problems = watch.problems();
  expectThat(problems.length === 0, `no failed request, none to another host ${problems.join(', ')}`.trim());
  server.closeAllConnections();
  server.close();
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
