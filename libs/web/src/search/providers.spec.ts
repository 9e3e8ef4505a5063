import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { Egress } from '#egress';
import { braveBody, searxngBody, serperBody, tavilyBody } from './__fixtures__/responses.js';
import type { ProviderConnection } from './ask-provider.js';
import { BraveProvider } from './brave.provider.js';
import { ProviderFault, type SearchProvider } from './search-provider.js';
import { SearxngProvider } from './searxng.provider.js';
import { SerperProvider } from './serper.provider.js';
import { TavilyProvider } from './tavily.provider.js';

type Create = (connection: ProviderConnection, url: string) => SearchProvider;

const providers: Record<string, { create: Create; body: object; date?: string }> = {
  searxng: {
    create: (connection, url) => new SearxngProvider(connection, url),
    body: searxngBody,
    date: '2026-03-01T10:00:00',
  },
  brave: {
    create: (connection, url) => new BraveProvider(connection, 'key', url),
    body: braveBody,
    date: '2026-03-01T10:00:00',
  },
  tavily: { create: (connection, url) => new TavilyProvider(connection, 'key', url), body: tavilyBody },
  serper: {
    create: (connection, url) => new SerperProvider(connection, 'key', url),
    body: serperBody,
    date: 'Mar 1, 2026',
  },
};

const connection = { egress: new Egress({ allowedNetworks: ['127.0.0.0/8'] }), timeoutMs: 1_000 };
const signal = new AbortController().signal;
const json = { 'content-type': 'application/json; charset=utf-8' };
const servers: Server[] = [];

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const search = (provider: SearchProvider, query = {}) =>
  provider.search({ query: 'sluice gates', count: 5, ...query }, signal);

async function faultOf(name: string, listener: RequestListener): Promise<string> {
  const url = await serve(listener);
  const error: unknown = await search(providers[name]!.create(connection, url)).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ProviderFault);
  return (error as Error).message;
}

describe.each(Object.keys(providers))('the provider %s', (name) => {
  const { create, body, date } = providers[name]!;

  it('returns the usable results as plain text', async () => {
    const url = await serve((_request, response) => response.writeHead(200, json).end(JSON.stringify(body)));
    const snippet = "A sluice is a water channel's gate.";
    const result = { title: 'Sluice & gate', url: 'https://example.org/sluice', snippet };
    expect(await search(create(connection, url))).toEqual([{ ...result, ...(date && { date }) }]);
  });

  const faults: Record<string, [RequestListener, RegExp]> = {
    'that hangs': [() => undefined, /did not answer in time/],
    'that dies before it responds': [(request) => request.socket.destroy(), /could not be fetched/],
    'that announces 100 MB': [
      (_request, response) => response.writeHead(200, { ...json, 'content-length': 100_000_000 }).flushHeaders(),
      /more than 2097152 bytes/,
    ],
    'that sends 100 MB': [
      (_request, response) => {
        response.writeHead(200, json);
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, ' ')));
        };
        response.on('drain', more);
        more();
      },
      /more than 2097152 bytes/,
    ],
    'that announces more than it sends': [
      (_request, response) => {
        response.writeHead(200, { ...json, 'content-length': 1_000 });
        response.write(JSON.stringify(body).slice(0, 100), () => response.destroy());
      },
      /could not be fetched/,
    ],
    'that redirects to a private address': [
      (_request, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
      /redirects too often/,
    ],
    'that packs its response': [
      (_request, response) =>
        response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(body))),
      /compressed/,
    ],
    'that sends a page': [
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'),
      /another type/,
    ],
    'that sends half a document': [
      (_request, response) => response.writeHead(200, json).end(JSON.stringify(body).slice(0, -5)),
      /not answer with valid JSON/,
    ],
    'that sends something else': [(_request, response) => response.writeHead(200, json).end('{"a":1}'), /has no list/],
    'that fails': [(_request, response) => response.writeHead(500, json).end('{}'), /status 500/],
  };

  it.each(Object.keys(faults))('reports a service %s', async (fault) => {
    const [listener, message] = faults[fault]!;
    expect(await faultOf(name, listener)).toMatch(message);
  });
});

describe('search requests', () => {
  const full = { freshness: 'week', safeSearch: false, language: 'de' } as const;

  async function requestOf(name: string): Promise<{ request: IncomingMessage; url: URL; body: string }> {
    let seen: { request: IncomingMessage; url: URL; body: string } | undefined;
    const url = await serve((request, response) => {
      void text(request).then((body) => {
        seen = { request, url: new URL(request.url ?? '', 'http://host'), body };
        response.writeHead(200, json).end(JSON.stringify(providers[name]!.body));
      });
    });
    await search(providers[name]!.create(connection, url), full);
    return seen!;
  }

  it.each([
    ['searxng', '/search', { q: 'sluice gates', format: 'json', safesearch: '0', time_range: 'week', language: 'de' }],
    [
      'brave',
      '/res/v1/web/search',
      { q: 'sluice gates', count: '5', safesearch: 'off', freshness: 'pw', search_lang: 'de' },
    ],
  ])('of %s name every option', async (name, path, query) => {
    const { request, url } = await requestOf(name);
    expect([request.method, url.pathname, Object.fromEntries(url.searchParams)]).toEqual(['GET', path, query]);
    expect(request.headers['x-subscription-token']).toBe(name === 'brave' ? 'key' : undefined);
  });

  it.each([
    ['tavily', { authorization: 'Bearer key' }, { query: 'sluice gates', max_results: 5, time_range: 'week' }],
    ['serper', { 'x-api-key': 'key' }, { q: 'sluice gates', num: 5, tbs: 'qdr:w', hl: 'de' }],
  ])('of %s name every option that it has', async (name, headers, body) => {
    const { request, url, body: sent } = await requestOf(name);
    expect([request.method, url.pathname, JSON.parse(sent)]).toEqual(['POST', '/search', body]);
    expect(request.headers).toMatchObject({ ...headers, 'content-type': 'application/json' });
  });
});

describe('what an operator reads', () => {
  it('names the engines of searxng that do not answer', async () => {
    const body = {
      results: [],
      unresponsive_engines: [
        ['first', 'timeout'],
        ['second', 'CAPTCHA'],
      ],
    };
    const message = await faultOf('searxng', (_request, response) =>
      response.writeHead(200, json).end(JSON.stringify(body)),
    );
    expect(message).toBe('None of its engines answered: first (timeout), second (CAPTCHA).');
  });

  it.each([
    ['searxng', 403, /`search.formats` in its settings.yml/],
    ['searxng', 429, /`server.limiter: false`/],
    ['searxng', 404, /check SLUICE_SEARXNG_URL/],
    ['brave', 401, /check SLUICE_BRAVE_SEARCH_KEY/],
    ['brave', 429, /limit of its plan/],
    ['tavily', 401, /check SLUICE_TAVILY_KEY/],
    ['tavily', 432, /limit of its plan/],
    ['serper', 403, /check SLUICE_SERPER_KEY/],
  ])('names the setting of %s behind status %i', async (name, status, message) => {
    expect(await faultOf(name, (_request, response) => response.writeHead(status).end('Forbidden'))).toMatch(message);
  });
});
