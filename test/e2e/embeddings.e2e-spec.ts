import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embed, embedMany } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embeddingFixtures, installDrafted } from '#test/drafted-model';
import { itInFull, type Transport, transportsFor } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder, tinyEncoderReference, tinyEncoderSize, vectorOf } from '#test/tiny-encoder';

/* Embeddings through the real processes, on a tiny encoder with vectors from the reference implementation. */

const reference = tinyEncoderReference();
const expected = reference.vectors.mean.map(vectorOf);
const tokensOf = (indexes: number[]) => indexes.reduce((sum, index) => sum + (reference.ids[index]?.length ?? 0), 0);
const everyText = reference.texts.map((_text, index) => index);

/** One text per run: what takes one run on the fast model takes two thousand here. */
const slowModel = 'slow-bert';
/** A decoder that is an embedding model. */
const decoderModel = 'tiny-qwen3-embedding';
const longText = 'the river was happy and the boat was small '.repeat(12).trim();

let platform: Platform;
let client: OpenAI;
let home: string;

function open(transport: Transport): void {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const price = { usd: 1, diem: 1 };
    const manifests = [
      await installTinyEncoder(home, { manifest: { aliases: ['text-embedding-tiny'] } }),
      await installTinyEncoder(home, {
        id: slowModel,
        manifest: {
          traits: {},
          familyOptions: { batchTokens: 1 },
          kindMembers: { embeddingDimensions: tinyEncoderSize, maxInputTokens: 128, supportsCustomDimensions: false },
          pricing: { input: price, output: price },
        },
      }),
    ];
    const published = new URL('tiny-qwen3-embedding/', embeddingFixtures);
    manifests.push(await installDrafted(home, published, { id: decoderModel }));
    platform = await startPlatform({ engine: 'text', home, manifests, transport });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    try {
      await stopConsistently(platform);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
}

function expectClose(vector: readonly number[] | undefined, wanted: Float32Array | undefined, tolerance = 1e-5): void {
  const differences = (vector ?? []).map((value, index) => Math.abs(value - (wanted?.[index] ?? Number.NaN)));
  expect(differences).toHaveLength(wanted?.length ?? -1);
  expect(Math.max(...differences)).toBeLessThan(tolerance);
}

async function post(body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
  return await fetch(`${platform.baseUrl}/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  });
}

interface PaidJob {
  state: string;
  error_code: string | null;
  prompt_tokens: number | null;
  charged_nano: string | null;
}

async function lastJob(): Promise<PaidJob | undefined> {
  await platform.closedJobs();
  const [row] = await platform.query<PaidJob>(
    `SELECT jobs.state, jobs.error_code, jobs.prompt_tokens, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

async function paidTotal(): Promise<{ total: string | null }> {
  await platform.closedJobs();
  const [row] = await platform.query<{ total: string | null }>('SELECT sum(charged_nano) AS total FROM holds');
  return row ?? { total: null };
}

/** Resolves when the host computes a request that takes long. */
async function underWay(): Promise<void> {
  for (let look = 0; look < 400; look++) {
    const rows = await platform.query("SELECT 1 FROM jobs WHERE state = 'running'");
    if (rows.length > 0) return await new Promise((resolve) => setTimeout(resolve, 300));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the job did not start');
}

describe.each(transportsFor('postgres'))('embeddings over %s', (transport) => {
  open(transport);

  it('reach the official client as base64, in the order of the texts', async () => {
    const { data, response } = await client.embeddings
      .create({ model: 'text-embedding-tiny', input: reference.texts })
      .withResponse();
    expect(data).toMatchObject({ object: 'list', model: 'tiny-bert' });
    expect(data.data.map(({ index, object }) => [index, object])).toEqual(
      everyText.map((index) => [index, 'embedding']),
    );
    for (const [index, { embedding }] of data.data.entries()) expectClose(embedding, expected[index]);
    const tokens = tokensOf(everyText);
    expect(data.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
    expect(response.headers.get('x-service-model-id')).toBe('tiny-bert');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toMatch(/^\d+$/);
    expect(response.headers.get('x-service-balance-usd')).toMatch(/^\d+\.\d+$/);
    // One dollar per million tokens.
    expect(await lastJob()).toMatchObject({
      state: 'succeeded',
      prompt_tokens: tokens,
      charged_nano: String(tokens * 1_000),
    });
  });

  it('are the same for the ids of the model’s own tokenizer', async () => {
    const input = [1, 2].map((index) => reference.ids[index] ?? []);
    const { data, usage } = await client.embeddings.create({ model: 'text-embedding-tiny', input });
    for (const [position, { embedding }] of data.entries()) expectClose(embedding, expected[position + 1]);
    expect(usage.prompt_tokens).toBe(tokensOf([1, 2]));
    expect(await lastJob()).toMatchObject({ state: 'succeeded', charged_nano: String(tokensOf([1, 2]) * 1_000) });
  });

  it('are the same for concurrent callers as for a single one, however they are batched', async () => {
    const asked = Array.from({ length: 48 }, (_value, caller) =>
      everyText.filter((index) => (index + caller) % 5 === 0),
    );
    const answers = await Promise.all(
      asked.map((indexes) =>
        client.embeddings.create({ model: 'default', input: indexes.map((index) => reference.texts[index] ?? '') }),
      ),
    );
    for (const [caller, { data, usage }] of answers.entries()) {
      const indexes = asked[caller] ?? [];
      for (const [place, index] of indexes.entries()) expectClose(data[place]?.embedding, expected[index]);
      expect(usage.prompt_tokens).toBe(tokensOf(indexes));
    }
  });

  it('accept the maximum number of texts, as numbers', async () => {
    const indexes = Array.from({ length: 2_048 }, (_value, place) => place % reference.texts.length);
    const input = indexes.map((index) => reference.texts[index] ?? '');
    const { data } = await client.embeddings.create({ model: 'default', input, encoding_format: 'float' });
    expect(data.map(({ index }) => index)).toEqual(indexes.map((_index, place) => place));
    for (const [place, index] of indexes.entries()) expectClose(data[place]?.embedding, expected[index]);
  });

  it('survive the death of the model’s host during a request', async () => {
    const input = Array.from({ length: 2_048 }, (_value, place) => (place % 2 === 0 ? longText : 'Hello.'));
    const answer = client.embeddings.create({ model: slowModel, input });
    await underWay();
    process.kill(platform.hostPid(slowModel), 'SIGKILL');
    const { data } = await answer;
    expect(data).toHaveLength(2_048);
    for (const { index, embedding } of data) if (index % 2 === 1) expectClose(embedding, expected[0]);
    expect(await lastJob()).toMatchObject({ state: 'succeeded' });
    await platform.untilOnline();
  });

  it('end when their client disconnects, and cost what was computed', async () => {
    const abort = new AbortController();
    const input = Array.from({ length: 2_048 }, () => longText);
    const ended = post({ model: slowModel, input }, {}, abort.signal).then(
      () => 'answered',
      () => 'left',
    );
    await underWay();
    abort.abort();
    expect(await ended).toBe('left');
    const job = await lastJob();
    expect(job?.state).toBe('cancelled');
    const perText = longText.split(' ').length + 2;
    expect((job?.prompt_tokens ?? -1) % perText).toBe(0);
    expect(job?.prompt_tokens).toBeLessThan(2_048 * perText);
    expect(job?.charged_nano).toBe(String((job?.prompt_tokens ?? -1) * 1_000));
  });

  if (transport === 'postgres') describeOnce();
});

/** Tests that do not depend on the queue, on the running platform. */
function describeOnce(): void {
  it('are float32 in base64 or as numbers, as requested', async () => {
    const ask = async (format?: string) => {
      const response = await post({ model: 'default', input: 'Hello.', encoding_format: format });
      return ((await response.json()) as { data: { embedding: unknown }[] }).data[0]?.embedding;
    };
    const numbers = (await ask()) as number[];
    expect(await ask('float')).toEqual(numbers);
    expect([...vectorOf((await ask('base64')) as string)]).toEqual(numbers);
    expectClose(numbers, expected[0]);
  });

  it('are truncated and normalized again when fewer dimensions are requested', async () => {
    const { data } = await client.embeddings.create({ model: 'default', input: 'Hello.', dimensions: 8 });
    const short = data[0]?.embedding ?? [];
    const norm = Math.hypot(...(expected[0]?.slice(0, 8) ?? []));
    expectClose(
      short,
      expected[0]?.slice(0, 8).map((value) => value / norm),
    );
  });

  it('come from a decoder with the prefix of its queries', async () => {
    const { texts, query, vectors } = JSON.parse(
      readFileSync(new URL(`${decoderModel}/reference.json`, embeddingFixtures), 'utf8'),
    ) as Record<'texts' | 'query' | 'vectors', string[]>;
    // The longest leaves no room for a prefix.
    const input = texts.filter((text) => text !== '' && text.length < 200);
    for (const [type, wanted] of [
      ['query', query],
      ['document', vectors],
    ] as const) {
      const response = await post({ model: decoderModel, input, input_type: type });
      const { data } = (await response.json()) as { data: { embedding: number[] }[] };
      for (const [index, { embedding }] of data.entries()) {
        expectClose(embedding, vectorOf(wanted[texts.indexOf(input[index] ?? '')] ?? ''), 1e-4);
      }
    }
  });

  it('reach the AI SDK, singly and in batches', async () => {
    const provider = createOpenAICompatible({
      name: 'sluice',
      baseURL: platform.baseUrl,
      apiKey: platform.inferenceKey,
    });
    const model = provider.embeddingModel('tiny-bert');
    const one = await embed({ model, value: reference.texts[1] ?? '', maxRetries: 0 });
    expectClose(one.embedding, expected[1]);
    expect(one.usage.tokens).toBe(reference.ids[1]?.length);
    const many = await embedMany({ model, values: reference.texts, maxRetries: 0 });
    for (const [index, vector] of many.embeddings.entries()) expectClose(vector, expected[index]);
  });

  it('are in the list of models, with capabilities and prices', async () => {
    const response = await fetch(`${platform.baseUrl}/models?type=embedding`);
    const { data, type } = (await response.json()) as { type: string; data: { id: string; model_spec: object }[] };
    expect([type, data.map(({ id }) => id).toSorted()]).toEqual([
      'embedding',
      ['slow-bert', 'tiny-bert', decoderModel],
    ]);
    expect(data.find(({ id }) => id === 'tiny-bert')).toMatchObject({
      object: 'model',
      type: 'embedding',
      model_spec: {
        embeddingDimensions: tinyEncoderSize,
        maxInputTokens: 128,
        supportsCustomDimensions: true,
        offline: false,
        pricing: { input: { usd: 1, diem: 1 }, output: { usd: 0, diem: 0 } },
      },
    });
  });

  itInFull('are computed by another worker when theirs dies', async () => {
    const input = Array.from({ length: 2_048 }, (_value, place) => (place === 7 ? 'Hello.' : longText));
    const answer = client.embeddings.create({ model: slowModel, input });
    await underWay();
    await platform.kill('worker');
    await platform.start('worker');
    const { data } = await answer;
    expect(data).toHaveLength(2_048);
    expectClose(data[7]?.embedding, expected[0]);
    expect(await lastJob()).toMatchObject({ state: 'succeeded' });
    await platform.untilOnline();
  });

  it('run once for one idempotency key', async () => {
    const body = JSON.stringify({ model: 'default', input: reference.texts });
    const key = { 'idempotency-key': 'embed-once' };
    const first = await post(body, key);
    const jobs = await platform.closedJobs();
    const second = await post(body, key);
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(await platform.closedJobs()).toHaveLength(jobs.length);
  });

  it.each([
    ['no input', { model: 'default' }, 400, 'INVALID_REQUEST', 'input'],
    ['an empty text', { model: 'default', input: '' }, 400, 'INVALID_REQUEST', 'input'],
    ['no text', { model: 'default', input: [] }, 400, 'INVALID_REQUEST', 'input'],
    ['an empty text among others', { model: 'default', input: ['a', ''] }, 400, 'INVALID_REQUEST', 'input'],
    [
      '2,049 texts',
      { model: 'default', input: Array.from({ length: 2_049 }, () => 'a') },
      400,
      'INVALID_REQUEST',
      'input',
    ],
    ['token ids of another tokenizer', { model: 'default', input: [15339, 1917] }, 400, 'INVALID_REQUEST', 'input'],
    ['unknown token ids', { model: 'default', input: [[101, 99_999_999], [5]] }, 400, 'INVALID_REQUEST', 'input[0]'],
    ['a long text', { model: 'default', input: longText.repeat(3) }, 400, 'context_length_exceeded', 'input'],
    [
      'a long text among others',
      { model: 'default', input: ['a', longText.repeat(3)] },
      400,
      'context_length_exceeded',
      'input[1]',
    ],
    ['megabytes', { model: 'default', input: 'river '.repeat(2_000_000) }, 400, 'context_length_exceeded', 'input'],
    [
      'an unknown format',
      { model: 'default', input: 'a', encoding_format: 'int8' },
      400,
      'INVALID_REQUEST',
      'encoding_format',
    ],
    ['zero dimensions', { model: 'default', input: 'a', dimensions: 0 }, 400, 'INVALID_REQUEST', 'dimensions'],
    [
      'more dimensions than there are',
      { model: 'default', input: 'a', dimensions: 33 },
      400,
      'INVALID_REQUEST',
      'dimensions',
    ],
    [
      'dimensions of a model with its own',
      { model: slowModel, input: 'a', dimensions: 8 },
      400,
      'INVALID_REQUEST',
      'dimensions',
    ],
    ['an unpaired surrogate', { model: 'default', input: 'a\ud800' }, 400, 'INVALID_REQUEST', 'input'],
    ['an unknown model', { model: 'nobody', input: 'a' }, 404, 'MODEL_NOT_FOUND', 'model'],
  ])('reject %s with OpenAI’s error, and cost nothing', async (_name, body, status, code, param) => {
    const { total: paid } = await paidTotal();
    const response = await post(body);
    const { error } = (await response.json()) as { error: object };
    expect({ status: response.status, ...error }).toMatchObject({
      status,
      code,
      param,
      type: expect.any(String) as string,
    });
    await platform.closedJobs();
    expect(await platform.query("SELECT request_id FROM holds WHERE state = 'open'")).toEqual([]);
    expect((await paidTotal()).total).toBe(paid);
  });

  it('reject other content types than JSON', async () => {
    expect((await post('a=1', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415);
  });

  it('reject a request without a key', async () => {
    const response = await post({ model: 'default', input: 'a' }, { authorization: 'Bearer slk_none' });
    expect(response.status).toBe(401);
  });
}
