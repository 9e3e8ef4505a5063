import { describe, expect, it, vi } from 'vitest';
import { Metrics } from '#platform/metrics';
import { ProviderSearch } from './provider-search.js';
import { ProviderFault, type SearchProvider } from './search-provider.js';
import { SearchCache } from './search-cache.js';
import type { SearchQuery, SearchResult } from './web-search.js';

const logger = { warn: vi.fn() };
const query = { query: 'sluice', count: 3 };
const results: SearchResult[] = [{ title: 'a', url: 'https://example.org/', snippet: 'b' }];
const works = (name: SearchProvider['name']) => ({ name, search: vi.fn(async () => results) });
const fails = (name: SearchProvider['name']) => ({
  name,
  search: vi.fn(async (_query: SearchQuery, _signal: AbortSignal): Promise<SearchResult[]> => {
    throw new ProviderFault('It is broken.');
  }),
});
const live = () => new AbortController().signal;

describe('a search', () => {
  it('is refused without a provider, naming the setting', async () => {
    const search = new ProviderSearch({ providers: [], logger });
    expect(search.isConfigured).toBe(false);
    await expect(search.search(query, live())).rejects.toMatchObject({
      reason: 'not-configured',
      message: expect.stringContaining('SLUICE_SEARCH_PROVIDERS'),
    });
  });

  it('asks the next provider when one fails, and tells the operator why', async () => {
    const [first, second] = [fails('searxng'), works('brave')];
    const search = new ProviderSearch({ providers: [first, second], logger });
    expect(await search.search(query, live())).toEqual({ provider: 'brave', results });
    expect(logger.warn).toHaveBeenCalledWith({ provider: 'searxng', reason: 'It is broken.' }, expect.any(String));
  });

  it('says only that search is unavailable when all fail', async () => {
    const search = new ProviderSearch({ providers: [fails('searxng'), fails('brave')], logger });
    await expect(search.search(query, live())).rejects.toMatchObject({
      reason: 'unavailable',
      message: 'Web search is not available at the moment.',
    });
  });

  it('asks only the provider that a query names, and returns only pages of its sites', async () => {
    const [first, second] = [works('searxng'), works('brave')];
    const search = new ProviderSearch({ providers: [first, second], logger });
    const named = { ...query, provider: 'brave' };
    expect(await search.search({ ...named, sites: ['example.org'] }, live())).toEqual({ provider: 'brave', results });
    expect((await search.search({ ...named, sites: ['x.com'] }, live())).results).toEqual([]);
    expect(first.search).not.toHaveBeenCalled();
    expect([search.hasProvider('brave'), search.hasProvider('tavily')]).toEqual([true, false]);
    await expect(search.search({ ...query, provider: 'tavily' }, live())).rejects.toMatchObject({
      reason: 'unavailable',
    });
  });

  it('counts requests, failures, stored results and open breakers', async () => {
    const metrics = new Metrics('test', { processMetrics: false });
    const stored = { provider: 'brave', results };
    const cache = { find: vi.fn(async () => null as typeof stored | null), add: async () => undefined };
    const search = new ProviderSearch({ providers: [fails('searxng'), works('brave')], logger, cache, metrics });
    const scoped = { ...query, scope: 'account' };
    for (let turn = 0; turn < 4; turn += 1) await search.search(scoped, live());
    cache.find.mockResolvedValueOnce(stored);
    await search.search(scoped, live());
    const text = await metrics.render();
    expect(text).toMatch(/^sluice_search_request_duration_seconds_count\{.*provider="searxng".*\} 3$/m);
    for (const line of [
      'sluice_search_requests_total{provider="searxng",result="failed",app="test"} 3',
      'sluice_search_requests_total{provider="brave",result="succeeded",app="test"} 4',
      'sluice_search_cache_lookups_total{result="miss",app="test"} 4',
      'sluice_search_cache_lookups_total{result="hit",app="test"} 1',
      'sluice_search_breaker_open{provider="searxng",app="test"} 1',
      'sluice_search_breaker_open{provider="brave",app="test"} 0',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  it('leaves a provider that fails again and again alone for a while', async () => {
    let nowMs = 0;
    const [broken, second] = [fails('searxng'), works('brave')];
    const search = new ProviderSearch({ providers: [broken, second], logger, clock: { monotonicMs: () => nowMs } });
    for (let turn = 0; turn < 10; turn += 1) await search.search(query, live());
    expect([broken.search.mock.calls.length, second.search.mock.calls.length]).toEqual([3, 10]);
    nowMs += 30_000;
    await search.search(query, live());
    await search.search(query, live());
    expect(broken.search).toHaveBeenCalledTimes(4);
    broken.search.mockResolvedValue(results);
    nowMs += 30_000;
    await search.search(query, live());
    expect(await search.search(query, live())).toEqual({ provider: 'searxng', results });
  });

  it('ends with its caller, which is no fault of the provider', async () => {
    const caller = new AbortController();
    const waiting = fails('searxng');
    waiting.search.mockImplementation(async (_query, signal) => {
      caller.abort(new Error('the caller left'));
      signal.throwIfAborted();
      return results;
    });
    const other = works('brave');
    const search = new ProviderSearch({ providers: [waiting, other], logger });
    for (let turn = 0; turn < 5; turn += 1) {
      await expect(search.search(query, caller.signal)).rejects.toThrow('the caller left');
    }
    waiting.search.mockResolvedValue(results);
    expect(await search.search(query, live())).toMatchObject({ provider: 'searxng' });
    expect(other.search).not.toHaveBeenCalled();
  });
});

describe('the cache', () => {
  const secretKeys: [string] = ['ab'.repeat(32)];

  function memory() {
    const rows = new Map<string, Uint8Array>();
    const repository = {
      find: async (id: string) => rows.get(id) ?? null,
      add: async (id: string, bytes: Uint8Array) => void rows.set(id, bytes),
      trim: vi.fn(async () => 0),
    };
    return { rows, cache: new SearchCache({ repository, secretKeys, lifetimeMs: 1_000, logger }) };
  }

  it('is used within its scope only, and shows neither query nor results', async () => {
    const { rows, cache } = memory();
    const provider = works('brave');
    const search = new ProviderSearch({ providers: [provider], logger, cache });
    const scoped = { ...query, scope: 'account' };
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await search.search(scoped, live())).toEqual({ provider: 'brave', results });
    }
    expect(provider.search).toHaveBeenCalledTimes(1);
    await search.search({ ...scoped, scope: 'another' }, live());
    await search.search({ ...scoped, count: 4 }, live());
    await search.search(query, live());
    expect([provider.search.mock.calls.length, rows.size]).toEqual([4, 3]);
    const stored = JSON.stringify([...rows].map(([id, bytes]) => [id, Buffer.from(bytes).toString('latin1')]));
    expect(stored).not.toMatch(/sluice|example/);
  });

  it('never stops a search', async () => {
    const broken = async (): Promise<never> => {
      throw new Error('no database');
    };
    const repository = { find: broken, add: broken, trim: broken };
    const cache = new SearchCache({ repository, secretKeys, lifetimeMs: 1_000, logger });
    const search = new ProviderSearch({ providers: [works('brave')], logger, cache });
    expect(await search.search({ ...query, scope: 'account' }, live())).toMatchObject({ provider: 'brave' });
  });
});
