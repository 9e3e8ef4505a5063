import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { startPlatform } from '#test/platform';
import { SearchServer } from '#test/search-server';
import { type BenchSubject, type Figures, medianOf, percentile, runBench } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- search [options]

First-token time of plain chats while other chats search, and while none does: one API replica and one worker with the
deterministic test engine, and a search provider that takes its time. Both run in turns on the same platform.`,
  {
    rounds: roundsOption,
    searches: { value: 'N', about: 'chats that search at once', default: 40 },
    provider: { value: 'SECONDS', about: 'time of the provider for each search', default: 10 },
    chats: { value: 'N', about: 'plain chats per run, spread over the time of the provider', default: 60 },
    json: jsonOption,
  },
);

/** Maximum first-token time beside searches over that without any. */
const aim = 1.2;
const model = 'searcher';

const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
const able = { contextLength: 8_000, cacheTokens: 64_000, slots: 8, traits: { default: 1, instruct: 1 } };
const manifest = deterministicManifest(model, able);
await installDeterministicModel(home, manifest);
const web = await SearchServer.start();
web.delayMs = options.provider * 1_000;
web.results = [{ title: 'Tides', url: 'https://tides.example/', content: 'High water is at 14:20.' }];
const longest = String(options.provider * 1_000 + 30_000);
const env = { ...web.env, SLUICE_CHAT_WEB_MS: longest, SLUICE_SEARCH_TIMEOUT_MS: longest };
const platform = await startPlatform({ ownPostgres: true, home, manifests: [manifest], env });

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function post(body: object): Promise<Response> {
  const response = await fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...body }),
  });
  if (response.ok) return response;
  throw new Error(`status ${response.status}: ${await response.text()}\n${platform.log().slice(-4_000)}`);
}

/** Ms from the request to the first text of a streamed chat. */
async function firstTokenMs(): Promise<number> {
  const startedAt = performance.now();
  const content = `Hello ${startedAt} [[tokens=4]]`;
  const response = await post({ stream: true, messages: [{ role: 'user', content }] });
  const decoder = new TextDecoder();
  let text = '';
  let firstMs: number | null = null;
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    if (firstMs === null && /"content":"[^"]/.test(text)) firstMs = performance.now() - startedAt;
  }
  if (firstMs === null) throw new Error(`the stream has no text: ${text}`);
  return firstMs;
}

async function search(index: number): Promise<void> {
  const messages = [{ role: 'user', content: `Search ${index} [[tokens=4]]` }];
  const response = await post({ messages, service_parameters: { enable_web_search: 'on' } });
  const body = (await response.json()) as { service_parameters: { web_search_citations: object[] } };
  if (body.service_parameters.web_search_citations.length === 0) throw new Error('a search found nothing');
}

async function plainChats(): Promise<Figures> {
  const pauseMs = (options.provider * 1_000 * 0.8) / options.chats;
  const asked: Promise<number>[] = [];
  for (let index = 0; index < options.chats; index += 1) {
    asked.push(firstTokenMs());
    await pause(pauseMs);
  }
  const times = await Promise.all(asked);
  return { firstTokenP50Ms: percentile(times, 50), firstTokenP95Ms: percentile(times, 95) };
}

/** Plain chats that begin when all searches wait for their provider, and end before it responds. */
async function besideSearches(): Promise<Figures> {
  const searching = Promise.all(
    Array.from({ length: options.searches }, async (_, index) => {
      // Not all in one millisecond: admission is not what is measured.
      await pause(index * 20);
      await search(index);
    }),
  );
  // Its end is awaited below.
  searching.catch(() => undefined);
  while (web.open < options.searches) await pause(10);
  const figures = await plainChats();
  const stillOpen = web.open;
  await searching;
  return { ...figures, searchesOpenAtEnd: stillOpen };
}

const subjects: BenchSubject[] = [
  { name: 'plain', run: plainChats },
  { name: 'beside searches', run: besideSearches },
];
try {
  const { rounds, searches, provider, chats } = options;
  await runBench({
    name: 'search',
    settings: { rounds, searches, provider, chats },
    subjects,
    rounds,
    json: options.json,
    ratiosOf: (results) =>
      ['firstTokenP50Ms', 'firstTokenP95Ms'].map((figure) => ({
        name: `beside searches / plain, ${figure}`,
        value: medianOf(results, 'beside searches', figure) / medianOf(results, 'plain', figure),
        aim: figure === 'firstTokenP50Ms' ? aim : null,
        isLimit: true,
      })),
  });
} finally {
  await platform.stop();
  await web.close();
  await rm(home, { recursive: true, force: true });
}
