import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { pdfFile } from '#test/pdf-file';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* Search, pages and files through the whole platform; a site of the test is search server and page at once. */

const article = `<html lang="en"><head><title>Sluices</title></head><body><nav>Menu</nav><article><h1>Sluices</h1>
<p>A sluice is a <b>gate</b>. See <a href="/boats">boats</a>. ${'Water passes the gate. '.repeat(20)}</p></article>`;

const results = Array.from({ length: 12 }, (_, index) => ({
  title: `Result ${index}`,
  url: `https://example.org/${index}`,
  content: `Text ${index}`,
  publishedDate: index === 0 ? '2026-03-01T00:00:00' : null,
}));

let searches: URL[] = [];
let isSearchBroken = false;
const waiting: IncomingMessage[] = [];

const site: RequestListener = (request, response) => {
  const url = new URL(request.url ?? '', 'http://site');
  if (url.pathname === '/search') {
    searches.push(url);
    if (isSearchBroken) return void response.writeHead(403).end();
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
  }
  if (url.pathname === '/article') return void response.writeHead(200, { 'content-type': 'text/html' }).end(article);
  if (url.pathname === '/slow') return void waiting.push(request);
  response.writeHead(404).end();
};

let server: Server;
let siteUrl: string;
let platform: Platform;
let policyFolder: string;

beforeAll(async () => {
  server = createServer(site);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  siteUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  policyFolder = await mkdtemp(join(tmpdir(), 'sluice-policy-'));
  const policyFile = join(policyFolder, 'policy.yaml');
  await writeFile(policyFile, 'terms:\n  en: [pipe bomb]\n');
  const api = {
    SLUICE_CONTENT_POLICY_FILE: policyFile,
    SLUICE_EGRESS_NETWORKS: '127.0.0.0/8',
    SLUICE_SEARCH_PROVIDERS: 'searxng',
    SLUICE_SEARXNG_URL: siteUrl,
    SLUICE_SEARCH_PRICES: 'searxng=0.002',
  };
  platform = await startPlatform({ processEnv: { api } });
});
afterAll(async () => {
  await stopConsistently(platform);
  server.closeAllConnections();
  server.close();
  await rm(policyFolder, { recursive: true, force: true });
});

async function post(path: string, body: object | FormData, headers: Record<string, string> = {}): Promise<Response> {
  const isForm = body instanceof FormData;
  return await fetch(`${platform.baseUrl}/augment/${path}`, {
    method: 'POST',
    body: isForm ? body : JSON.stringify(body),
    headers: {
      authorization: `Bearer ${platform.inferenceKey}`,
      ...(!isForm && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
}

const form = (file: Buffer, fields: Record<string, string> = {}): FormData => {
  const body = new FormData();
  body.append('file', new Blob([new Uint8Array(file)]), 'report.pdf');
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  return body;
};

interface Charged {
  state: string;
  error_code: string | null;
  charged_nano: string | null;
}

/** The job of a response, closed, and what it cost. */
async function jobOf(response: Response): Promise<Charged | undefined> {
  await platform.closedJobs();
  const [row] = await platform.query<Charged>(
    `SELECT jobs.state, jobs.error_code, holds.charged_nano FROM jobs
       JOIN holds ON holds.request_id = jobs.request_id WHERE jobs.request_id = $1`,
    [response.headers.get('cf-ray')],
  );
  return row;
}

describe('augment', () => {
  it('searches, at the price of the provider', async () => {
    const response = await post('search', { query: 'sluice gates', limit: 2 });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        query: 'sluice gates',
        results: [
          { title: 'Result 0', url: 'https://example.org/0', content: 'Text 0', date: '2026-03-01T00:00:00' },
          { title: 'Result 1', url: 'https://example.org/1', content: 'Text 1', date: '' },
        ],
      },
    ]);
    expect(await jobOf(response)).toEqual({ state: 'succeeded', error_code: null, charged_nano: '2000000' });
    expect(response.headers.get('x-service-balance-usd')).toBe('1000.000000');
  });

  it('stores results of an account, and charges each search', async () => {
    searches = [];
    const bodies = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const response = await post('search', { query: 'a secret plan' });
      bodies.push(await response.json());
      expect(await jobOf(response)).toMatchObject({ charged_nano: '2000000' });
    }
    expect([searches.length, bodies[1]]).toEqual([1, bodies[0]]);
    const rows = await platform.query<{ text: string }>(
      `SELECT encode(ciphertext, 'escape') || id AS text FROM search_results`,
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ text }) => /secret|Result/.test(text))).toEqual([]);
  });

  it('repeats a response for its idempotency key, without a second charge', async () => {
    const headers = { 'idempotency-key': 'search-once' };
    const first = await post('search', { query: 'boats' }, headers);
    const body = await first.text();
    const second = await post('search', { query: 'boats' }, headers);
    expect([await second.text(), second.headers.get('idempotent-replayed')]).toEqual([body, 'true']);
    const [count] = await platform.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM idempotency_keys WHERE key = 'search-once'`,
    );
    expect([count, (await jobOf(first))?.charged_nano]).toEqual([{ count: 1 }, '2000000']);
  });

  it('refuses what is out of range, and costs nothing when search fails', async () => {
    for (const body of [
      {},
      { query: '' },
      { query: 'x'.repeat(401) },
      { query: 'x', limit: 0 },
      { query: 'x', limit: 21 },
    ]) {
      expect((await post('search', body)).status).toBe(400);
    }
    isSearchBroken = true;
    const response = await post('search', { query: 'nothing' });
    isSearchBroken = false;
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'SERVICE_UNAVAILABLE' }]);
    expect(await jobOf(response)).toMatchObject({
      state: 'failed',
      error_code: 'SERVICE_UNAVAILABLE',
      charged_nano: '0',
    });
    expect(platform.log()).toContain('search.formats');
  });

  it('searches for nothing that the content policy does not allow', async () => {
    searches = [];
    const response = await post('search', { query: 'a pipe bomb' });
    expect([response.status, await response.json()]).toMatchObject([422, { code: 'CONTENT_POLICY_VIOLATION' }]);
    expect([searches, await jobOf(response)]).toEqual([[], undefined]);
  });

  it('turns a page into Markdown', async () => {
    const response = await post('scrape', { url: `${siteUrl}/article` });
    const page = (await response.json()) as { content: string };
    expect([response.status, page]).toMatchObject([
      200,
      {
        url: `${siteUrl}/article`,
        format: 'markdown',
        title: 'Sluices',
        links: [{ text: 'boats', url: `${siteUrl}/boats` }],
        metadata: { language: 'en' },
      },
    ]);
    expect(page.content).toContain(`A sluice is a **gate**. See [boats](${siteUrl}/boats).`);
    expect(page.content).not.toContain('Menu');
    expect(await jobOf(response)).toMatchObject({ charged_nano: '10000000' });
  });

  it.each(['/missing', 'http://10.0.0.1/', 'ftp://example.org/', 'nothing'])('charges no page for %s', async (url) => {
    const response = await post('scrape', { url: url.startsWith('/') ? siteUrl + url : url });
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
    expect(await jobOf(response)).toMatchObject({ state: 'failed', charged_nano: '0' });
  });

  it('reads the text of a file, as JSON and as text', async () => {
    const json = await post('text-parser', form(pdfFile(['Hello water gate'])));
    expect([json.status, await json.json()]).toEqual([200, { text: 'Hello water gate', tokens: 3 }]);
    expect(await jobOf(json)).toMatchObject({ charged_nano: '10000000' });
    const text = await post('text-parser', form(pdfFile(['Hello']), { response_format: 'text' }));
    expect([text.headers.get('content-type'), await text.text()]).toEqual(['text/plain; charset=utf-8', 'Hello']);
    const broken = await post('text-parser', form(Buffer.from('%PDF-1.7 broken')));
    expect(broken.status).toBe(400);
    expect(await jobOf(broken)).toMatchObject({ charged_nano: '0' });
  });

  it('shows the charges in the usage history', async () => {
    const url = `${platform.baseUrl}/billing/usage-history?limit=100`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${platform.adminKey}` } });
    const text = await response.text();
    expect(response.status).toBe(200);
    for (const sku of ['augment-search-searxng', 'augment-scrape-page', 'augment-text-parser-file']) {
      expect(text).toContain(sku);
    }
  });

  it('costs nothing when the client leaves', async () => {
    const client = new AbortController();
    const asked = fetch(`${platform.baseUrl}/augment/scrape`, {
      method: 'POST',
      signal: client.signal,
      body: JSON.stringify({ url: `${siteUrl}/slow` }),
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    }).catch(() => null);
    await expect.poll(() => waiting.length, { timeout: 20_000 }).toBe(1);
    client.abort();
    await asked;
    await platform.closedJobs();
    const [row] = await platform.query<Charged>(
      `SELECT jobs.state, jobs.error_code, holds.charged_nano FROM jobs
         JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
    );
    expect(row).toEqual({ state: 'cancelled', error_code: 'JOB_CANCELLED', charged_nano: '0' });
  });

  itInFull('costs nothing when its api dies', async () => {
    waiting.splice(0);
    const asked = post('scrape', { url: `${siteUrl}/slow` }).catch(() => null);
    await expect.poll(() => waiting.length, { timeout: 20_000 }).toBe(1);
    await platform.kill('api');
    await asked;
    const open = await platform.query(`SELECT 1 FROM jobs WHERE state = 'queued' AND modality = 'direct'`);
    expect(open).toHaveLength(1);
    // The deadline, and the time after it, have passed.
    await platform.query(`UPDATE jobs SET deadline_at = now() - interval '1 minute' WHERE state = 'queued'`);
    const rows = await platform.closedJobs(60_000);
    expect(rows.at(-1)).toMatchObject({ state: 'expired', error_code: 'REQUEST_TIMEOUT' });
    const { openReservations } = await expectInvariant(platform);
    expect(openReservations).toBe(0);
    await platform.start('api');
    await platform.untilOnline();
  });
});
