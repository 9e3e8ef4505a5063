import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import {
  bundledCharacterFolder,
  CharactersRepository,
  CharactersService,
  installBundled,
  loadCharacterFolder,
  ReviewsRepository,
} from '#characters';
import { PrismaService } from '#platform/prisma';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { SearchServer } from '#test/search-server';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyModel } from '#test/tiny-models';
import { startSluice } from './sluice-command.js';

/* Characters through the whole platform, with the official client. The models are tiny and real. */

const pirate = 'You are a pirate who answers in rhymes.';

let home: string;
let platform: Platform;
let client: OpenAI;
let web: SearchServer;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [
    await installTinyModel(home, { contextLength: 4_096, manifest: { traits: { default: 1, instruct: 1 } } }),
    await installTinyModel(home, { id: 'tiny-pirate', contextLength: 4_096, manifest: { traits: {} } }),
    await installTinyEncoder(home),
  ];
  web = await SearchServer.start();
  platform = await startPlatform({
    engine: 'text',
    home,
    manifests,
    env: { SLUICE_EGRESS_NETWORKS: '127.0.0.0/8', SLUICE_CHAT_WEB_TOKENS: '800' },
  });
  client = new OpenAI({ baseURL: platform.baseUrl, apiKey: platform.inferenceKey, maxRetries: 0 });
  const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 2 });
  const bundled = await loadCharacterFolder(bundledCharacterFolder());
  await installBundled(prisma, bundled);
  const [first] = bundled;
  if (first === undefined) throw new Error('no character is bundled');
  const characters = new CharactersService(new CharactersRepository(prisma), new ReviewsRepository(prisma));
  const own = { slug: 'pirate', name: 'Pirate', systemPrompt: pirate, modelId: 'tiny-pirate', tags: ['sea'] };
  await characters.add({ ...first, ...own, description: null, greeting: null, featured: false, webEnabled: false });
  for (const rating of [5, 4, 3]) {
    const review = { accountId: null, rating, message: `Rated ${rating}.`, username: 'Ops', locale: 'en' };
    await characters.review('pirate', review);
  }
  await prisma.$disconnect();
});

afterEach(async () => {
  await platform.closedJobs();
  await expectInvariant(platform);
});

afterAll(async () => {
  await platform?.stop();
  await web?.close();
  await rm(home, { recursive: true, force: true });
});

async function get(path: string): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${platform.inferenceKey}` };
  const response = await fetch(`${platform.baseUrl}${path}`, { headers });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body };
}

type ChatBody = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;

const chat = (model: string, parameters: object = {}, system: string[] = []) =>
  client.chat.completions.create({
    model,
    messages: [
      ...system.map((content) => ({ role: 'system' as const, content })),
      { role: 'user' as const, content: 'Hello.' },
    ],
    max_completion_tokens: 4,
    service_parameters: parameters,
  } as ChatBody);

describe('the routes of characters', () => {
  it('list, find and page through what there is', async () => {
    const { body } = await get('/characters?sortBy=ratingCount&limit=1');
    expect(body).toMatchObject({ object: 'list', data: [{ slug: 'pirate', modelId: 'tiny-pirate', tags: ['sea'] }] });
    expect(JSON.stringify(body)).not.toContain(pirate);
    expect((await get('/characters?tags=learning')).body).toMatchObject({ data: [{ slug: 'patient-tutor' }] });
    const one = await get('/characters/pirate');
    const stats = { averageRating: 4, imports: 0, ratingCount: 3, ratingSum: 12, userRating: null };
    expect(one.body).toMatchObject({ object: 'character', data: { slug: 'pirate', stats } });
    const reviews = await get('/characters/pirate/reviews?page=2&pageSize=2');
    expect(reviews.body).toMatchObject({
      data: [{ rating: 5, message: 'Rated 5.', isOwner: false }],
      pagination: { page: 2, pageSize: 2, total: 3, totalPages: 2 },
      summary: { averageRating: 4, totalReviews: 3 },
    });
    const names = ['limit', 'page', 'total', 'total-pages'];
    expect(names.map((name) => reviews.headers.get(`x-pagination-${name}`))).toEqual(['2', '2', '3', '2']);
  });

  it('refuse unknown slugs and wrong queries', async () => {
    for (const path of ['/characters/nobody', '/characters/nobody/reviews', '/characters/a%00b']) {
      const { status, body } = await get(path);
      expect([status, body['code']], path).toEqual([404, 'CHARACTER_NOT_FOUND']);
    }
    for (const path of ['/characters/pirate/reviews?page=0', '/characters?limit=1000', '/characters?isAdult=x']) {
      const { status, body } = await get(path);
      expect([status, body['code']], path).toEqual([400, 'INVALID_REQUEST']);
    }
  });
});

describe('a chat with a character', () => {
  it('has its prompt after the default one and before the caller’s, and is charged for it', async () => {
    const named = await chat('tiny-llama', { character_slug: 'pirate' }, ['Be brief.']);
    const written = await chat('tiny-llama', {}, [pirate, 'Be brief.']);
    expect(named.usage?.prompt_tokens).toBe(written.usage?.prompt_tokens);
    expect(named).toMatchObject({ model: 'tiny-llama', service_parameters: { character_slug: 'pirate' } });
    const without = await chat('tiny-llama', {}, ['Be brief.']);
    expect(named.usage?.prompt_tokens).toBeGreaterThan(without.usage?.prompt_tokens ?? Infinity);
  });

  it('uses its model where the request names the default one, by field and by suffix', async () => {
    for (const [model, parameters] of [
      ['default', { character_slug: 'pirate' }],
      ['default:character_slug=pirate', {}],
    ] as const) {
      expect(await chat(model, parameters)).toMatchObject({ model: 'tiny-pirate' });
    }
    const bundled = await chat('default:character_slug=patient-tutor');
    expect(bundled.model).toBe('tiny-llama');
  });

  it('streams, and works through the Responses API', async () => {
    const stream = await client.chat.completions.create({
      model: 'tiny-llama:character_slug=pirate',
      messages: [{ role: 'user', content: 'Hello.' }],
      max_completion_tokens: 4,
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).not.toBe('');
    const response = await client.responses.create({
      model: 'default',
      input: 'Hello.',
      max_output_tokens: 4,
      service_parameters: { character_slug: 'pirate' },
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    expect(response.model).toBe('tiny-pirate');
  });

  it('is refused for an unknown slug before anything is charged', async () => {
    const { length } = await platform.closedJobs();
    for (const model of ['tiny-llama', 'default']) {
      const refusal = { status: 404, code: 'CHARACTER_NOT_FOUND', param: 'service_parameters.character_slug' };
      await expect(chat(model, { character_slug: 'nobody' })).rejects.toMatchObject(refusal);
    }
    expect(await platform.closedJobs()).toHaveLength(length);
  });

  it('counts in the statistics of the character', async () => {
    await expect
      .poll(async () => (await get('/characters/pirate')).body, { timeout: 15_000, interval: 250 })
      .toMatchObject({ data: { stats: { imports: 5 } } });
  });
});

describe('a chat that reads a long page', () => {
  it('gets the passages that matter, by vectors that cost nothing', async () => {
    const filler = Array.from({ length: 80 }, (_, index) => `Paragraph ${index}. ${'Nothing is here. '.repeat(25)}`);
    web.pages.set('/long', {
      type: 'text/plain',
      body: [...filler, 'The cat sat on the mat. '.repeat(20)].join('\n\n'),
    });
    const { length: before } = await platform.closedJobs();
    const content = `Where did the cat sit? ${web.url}/long`;
    const body = { model: 'tiny-llama', messages: [{ role: 'user', content }], max_completion_tokens: 4 };
    const asked = { ...body, service_parameters: { enable_web_scraping: true } };
    const response = (await client.chat.completions.create(asked as ChatBody)) as unknown as {
      service_parameters: { web_search_citations: { content: string }[]; web_search_error?: string };
    };
    const {
      web_search_citations: [page],
      web_search_error: problem,
    } = response.service_parameters;
    expect([problem, page?.content.length]).toEqual([undefined, expect.any(Number)]);
    expect(page?.content.length).toBeLessThan(5_000);
    const jobs = (await platform.closedJobs()).slice(before);
    const rows = await platform.query<{ job: string; is_free: boolean }>(
      `SELECT jobs.modality || ' ' || jobs.state AS job, holds.charged_nano = 0 AS is_free
         FROM jobs JOIN holds ON holds.request_id = jobs.request_id WHERE jobs.request_id = ANY($1)`,
      [jobs.map(({ request_id: id }) => id)],
    );
    expect(rows).toContainEqual({ job: 'embedding succeeded', is_free: true });
    expect(rows.filter(({ is_free: isFree }) => !isFree).map(({ job }) => job)).toEqual(['chat succeeded']);
  });
});

describe('a character with documents', () => {
  const question = 'the cat sat on the mat';
  const sluice = async (...line: string[]): Promise<string> => {
    const environment = { ...process.env, SLUICE_HOME: home, DATABASE_URL: platform.databaseUrl };
    const { code, stdout, stderr } = await startSluice(['characters', 'documents', ...line], environment).finished;
    expect(code, stderr).toBe(0);
    return stdout;
  };

  it('answers from the passages that are closest, and names them', async () => {
    const without = await chat('tiny-llama', { character_slug: 'patient-tutor' });
    const folder = join(home, 'documents');
    await mkdir(join(folder, 'inner'), { recursive: true });
    await writeFile(join(folder, 'cat.md'), question);
    await writeFile(join(folder, 'inner', 'numbers.csv'), '1,2,3\n'.repeat(400));
    expect(await sluice('add', 'patient-tutor', folder)).toContain('inner/numbers.csv: added');
    expect(await sluice('list', 'patient-tutor')).toMatch(/^cat\.md +1$/m);
    // A chat sees a change of its character within two seconds.
    await expect
      .poll(async () => (await ask(question)).service_parameters.web_search_citations[0], { timeout: 10_000 })
      .toEqual({ title: 'cat.md', url: 'character:patient-tutor/cat.md#0', content: question });
    const { usage } = await ask(question);
    expect(usage?.prompt_tokens).toBeGreaterThan((without.usage?.prompt_tokens ?? Infinity) + 40);
  });

  it('charges the vector of the question as a job of its own', async () => {
    const { length: before } = await platform.closedJobs();
    await ask(question);
    const jobs = (await platform.closedJobs()).slice(before);
    expect(jobs.map(({ request_id: id, state }) => [id.endsWith('.0'), state])).toEqual([
      [true, 'succeeded'],
      [false, 'succeeded'],
    ]);
    expect(jobs[0]?.prompt_tokens).toBeGreaterThan(4);
  });

  it('charges nothing where the account can pay for the vector alone', async () => {
    const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 2 });
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const { id: accountId } = await accounts.createAccount('poor');
    const { key: apiKey } = await accounts.createKey({ accountId, kind: 'INFERENCE' });
    // The vector reserves 128 tokens at 1 USD per million.
    await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano: 130_000n });
    const poor = new OpenAI({ baseURL: platform.baseUrl, apiKey, maxRetries: 0 });
    await expect(ask(question, poor)).rejects.toMatchObject({ status: 402, code: 'INSUFFICIENT_BALANCE' });
    expect((await createLedger(prisma).balance(accountId)).usdNano).toBe(130_000n);
    await prisma.$disconnect();
  });

  it('has no sources where its files are gone', async () => {
    expect(await sluice('remove', 'patient-tutor')).toBe('patient-tutor: 2 files removed\n');
    await expect
      .poll(async () => (await ask(question)).service_parameters.web_search_citations, { timeout: 10_000 })
      .toEqual([]);
  });

  it('answers from a file that the Admin API added, which costs nothing', async () => {
    const path = `${platform.origin}/api/admin/v1/characters/patient-tutor/documents`;
    const authorization = `Bearer ${platform.adminKey}`;
    const add = async (name: string, content: string, model?: string) => {
      const form = new FormData();
      form.set('file', new File([content], name));
      if (model !== undefined) form.set('model', model);
      const response = await fetch(path, { method: 'POST', headers: { authorization }, body: form });
      return { status: response.status, body: (await response.json()) as { data: { id: string; name: string }[] } };
    };
    const { length: before } = await platform.closedJobs();
    expect((await add('numbers.csv', '1,2,3\n'.repeat(400))).status).toBe(200);
    const { body } = await add('cat.md', question, 'tiny-bert');
    expect(body).toMatchObject({
      model: 'tiny-bert',
      data: [{ name: 'cat.md', passages: 1 }, { name: 'numbers.csv' }],
    });
    const jobs = (await platform.closedJobs()).slice(before);
    const ids = jobs.filter(({ state }) => state === 'succeeded').map(({ request_id: id }) => id);
    const charged = `SELECT 1 FROM holds WHERE request_id = ANY($1) AND charged_nano > 0`;
    expect([ids.length > 1, await platform.query(charged, [ids])]).toEqual([true, []]);
    await expect
      .poll(async () => (await ask(question)).service_parameters.web_search_citations[0], { timeout: 10_000 })
      .toEqual({ title: 'cat.md', url: 'character:patient-tutor/cat.md#0', content: question });
    for (const { id } of body.data) {
      expect((await fetch(`${path}/${id}`, { method: 'DELETE', headers: { authorization } })).status).toBe(204);
    }
  });

  async function ask(content: string, caller = client) {
    const response = await caller.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content }],
      max_completion_tokens: 4,
      service_parameters: { character_slug: 'patient-tutor' },
    } as ChatBody);
    return response as typeof response & { service_parameters: { web_search_citations: object[] } };
  }
});
