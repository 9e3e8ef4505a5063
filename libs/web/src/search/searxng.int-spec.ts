import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { hasSearx, type Searx, startSearx } from '#test/searx';
import { createProviders } from './create-providers.js';
import { ProviderSearch } from './provider-search.js';

const results = [
  { title: 'Sluice', url: 'https://example.org/sluice', content: 'A gate for water & boats.' },
  { title: 'Lock', url: 'https://example.org/lock', content: 'A lock.' },
];

describe.skipIf(!hasSearx)('a real searx server', () => {
  let engine: Server;
  let searx: Searx;
  const queries: (string | null)[] = [];

  beforeAll(async () => {
    engine = createServer((request, response) => {
      queries.push(new URL(request.url ?? '', 'http://host').searchParams.get('q'));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
    });
    await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
    searx = await startSearx(`http://127.0.0.1:${(engine.address() as AddressInfo).port}/`);
  }, 60_000);
  afterAll(async () => {
    await searx?.stop();
    engine.closeAllConnections();
    engine.close();
  });

  it('answers through its JSON format', async () => {
    const providers = [{ name: 'searxng' as const, secret: searx.url, priceUsd: 0.01 }];
    const search = new ProviderSearch({
      providers: createProviders({ providers, timeoutMs: 10_000, cacheMs: 0 }),
      logger: { warn: () => undefined },
    });
    const query = { query: 'Wasser & Tor', count: 1, freshness: 'week', language: 'en' } as const;
    expect(await search.search(query, new AbortController().signal)).toEqual({
      provider: 'searxng',
      results: [{ title: 'Sluice', url: 'https://example.org/sluice', snippet: 'A gate for water & boats.' }],
    });
    expect(queries).toEqual(['Wasser & Tor']);
  });

  it('is what `sluice search test` asks', async () => {
    const env = { SLUICE_SEARCH_PROVIDERS: 'searxng', SLUICE_SEARXNG_URL: searx.url };
    const text = await runCommandLine(['search', 'test', 'locks'], env);
    expect(text).toMatch(/searxng: 2 results/);
    expect(text).toContain('https://example.org/lock');
  });

  it('says which of its engines does not answer', async () => {
    engine.closeAllConnections();
    await new Promise((resolve) => engine.close(resolve));
    const env = { SLUICE_SEARCH_PROVIDERS: 'searxng', SLUICE_SEARXNG_URL: searx.url };
    await expect(runCommandLine(['search', 'test', 'gates', '--json'], env)).rejects.toThrow('No search provider');
  });
});
