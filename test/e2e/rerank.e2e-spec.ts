import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDrafted, rerankerFixtures } from '#test/drafted-model';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyReranker, tinyRerankerReference } from '#test/tiny-reranker';

/* `POST /rerank` through the real processes, on tiny cross-encoders with scores from the reference implementation. */

const reference = tinyRerankerReference('tiny-bert-reranker');
const { query, texts } = reference;
const expected = reference.logits.map((logit) => 1 / (1 + Math.exp(-logit)));
const order = expected.map((_score, index) => index).toSorted((left, right) => scoreAt(right) - scoreAt(left));
const tokensOf = (indexes: number[]) => indexes.reduce((sum, index) => sum + (reference.ids[index]?.length ?? 0), 0);
const everyText = texts.map((_text, index) => index);
/** One document per run. */
const slowModel = 'slow-reranker';
/** A decoder that is asked in a prompt. */
const promptModel = 'tiny-qwen3-reranker';

function scoreAt(index: number): number {
  return expected[index] ?? Number.NaN;
}

let platform: Platform;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [
    await installTinyEncoder(home),
    await installTinyReranker(home, 'tiny-bert-reranker', { aliases: ['rerank-tiny'] }),
    await installTinyReranker(home, 'tiny-xlm-roberta-reranker', {
      id: slowModel,
      traits: {},
      familyOptions: { batchTokens: 1 },
    }),
  ];
  const published = new URL('tiny-qwen3-reranker/', rerankerFixtures);
  const pricing = { input: { usd: 1, diem: 1 } };
  manifests.push(await installDrafted(home, published, { id: promptModel, pricing }));
  platform = await startPlatform({ engine: 'text', home, manifests });
});
afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

interface Ranking {
  id: string;
  model: string;
  results: { index: number; relevance_score: number; document?: { text: string } }[];
  usage: { prompt_tokens: number; total_tokens: number };
  meta: { tokens: { input_tokens: number; output_tokens: number } };
}

async function post(body: unknown, path = 'rerank', signal?: AbortSignal): Promise<Response> {
  return await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
}

async function rank(body: object, path?: string): Promise<Ranking> {
  const response = await post({ model: 'default', query, documents: texts, ...body }, path);
  expect(response.status).toBe(200);
  return (await response.json()) as Ranking;
}

async function lastJob() {
  await platform.closedJobs();
  const [row] = await platform.query<{ state: string; prompt_tokens: number | null; charged_nano: string | null }>(
    `SELECT jobs.state, jobs.prompt_tokens, holds.charged_nano FROM jobs
     LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at DESC LIMIT 1`,
  );
  return row;
}

describe('a reranking', () => {
  it('has the documents in the order of the reference, and costs the tokens that were read', async () => {
    const ranking = await rank({ model: 'rerank-tiny' });
    expect(ranking.results.map(({ index }) => index)).toEqual(order);
    for (const { index, relevance_score: score } of ranking.results) expect(score).toBeCloseTo(scoreAt(index), 4);
    const tokens = tokensOf(everyText);
    expect(ranking).toMatchObject({
      model: 'tiny-bert-reranker',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      meta: { tokens: { input_tokens: tokens, output_tokens: 0 } },
    });
    expect(ranking.results.every((result) => !('document' in result))).toBe(true);
    // One dollar per million tokens.
    const charged_nano = String(tokens * 1_000);
    expect(await lastJob()).toEqual({ state: 'succeeded', prompt_tokens: tokens, charged_nano });
  });

  it('by a decoder has the scores of the reference, changes with the instruction, and costs the whole prompt', async () => {
    const decoder = JSON.parse(
      readFileSync(new URL(`${promptModel}/reference.json`, rerankerFixtures), 'utf8'),
    ) as typeof reference;
    const body = { model: promptModel, query: decoder.query, documents: decoder.texts };
    const { results, usage } = await rank(body);
    for (const { index, relevance_score: score } of results) {
      expect(score).toBeCloseTo(1 / (1 + Math.exp(-(decoder.logits[index] ?? Number.NaN))), 4);
    }
    expect(usage.prompt_tokens).toBe(decoder.ids.flat().length);
    expect(await lastJob()).toMatchObject({ charged_nano: String(decoder.ids.flat().length * 1_000) });
    const other = await rank({ ...body, instruction: 'Find what is about bread.' });
    expect(other.results.map(({ relevance_score: score }) => score)).not.toEqual(
      results.map(({ relevance_score: score }) => score),
    );
    const refused = await post({ model: 'default', query, documents: texts, instruction: 'Find what is about bread.' });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'instruction' } }]);
  });

  it.each([
    [
      'with objects, fields to rank by and documents to return',
      'rerank',
      { rank_fields: ['text'], max_chunks_per_doc: 10 },
    ],
    ['at the path that clients add to a base URL', 'v2/rerank', { max_tokens_per_doc: 4_096 }],
    ['at the path of earlier clients', 'v1/rerank', {}],
  ])('takes what other clients send: %s', async (_name, path, more) => {
    const documents = texts.map((text) => ({ text, title: 'ignored' }));
    const { results } = await rank({ documents, top_n: 3, return_documents: true, ...more }, path);
    expect(results.map(({ index }) => index)).toEqual(order.slice(0, 3));
    expect(results.map(({ document }) => document)).toEqual(order.slice(0, 3).map((index) => ({ text: texts[index] })));
  });

  it('is the same for concurrent callers, however their documents are batched', async () => {
    const asked = Array.from({ length: 24 }, (_value, caller) => everyText.filter((index) => (index + caller) % 3 < 2));
    const rankings = await Promise.all(
      asked.map((indexes) => rank({ documents: indexes.map((index) => texts[index]) })),
    );
    for (const [caller, { results, usage }] of rankings.entries()) {
      const indexes = asked[caller] ?? [];
      for (const result of results) expect(result.relevance_score).toBeCloseTo(scoreAt(indexes[result.index] ?? -1), 4);
      expect(usage.prompt_tokens).toBe(tokensOf(indexes));
    }
  });

  it('of the maximum number of documents ends when its client disconnects, and costs what was computed', async () => {
    // Those of earlier tests would be taken for this one.
    await platform.closedJobs();
    const abort = new AbortController();
    const documents = Array.from({ length: 1_000 }, () => texts.at(-1));
    const ended = post({ model: slowModel, query, documents }, 'rerank', abort.signal).then(
      () => 'answered',
      () => 'left',
    );
    for (let look = 0; look < 400; look++) {
      const rows = await platform.query("SELECT 1 FROM jobs WHERE state = 'running'");
      if (rows.length > 0) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    abort.abort();
    expect(await ended).toBe('left');
    const job = await lastJob();
    expect(job?.state).toBe('cancelled');
    const perPair = tinyRerankerReference('tiny-xlm-roberta-reranker').ids.at(-1)?.length ?? 0;
    const { prompt_tokens: tokens, charged_nano: charged } = job ?? {};
    expect((tokens ?? -1) % perPair).toBe(0);
    expect(tokens).toBeLessThan(1_000 * perPair);
    expect(charged).toBe(String((tokens ?? -1) * 1_000));
  });

  it('lists its models with their limits and prices', async () => {
    const response = await fetch(`${platform.baseUrl}/models?type=rerank`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id).toSorted()).toEqual(['slow-reranker', 'tiny-bert-reranker', 'tiny-qwen3-reranker']);
    expect(data.find(({ id }) => id === 'tiny-bert-reranker')).toMatchObject({
      type: 'rerank',
      model_spec: { maxInputTokens: 258, offline: false, pricing: { input: { usd: 1, diem: 1 } } },
    });
  });

  it.each([
    ['no query', { query: '' }, 400, 'INVALID_REQUEST', 'query'],
    ['a query without room for a document', { query: 'river '.repeat(300) }, 400, 'context_length_exceeded', 'query'],
    ['no documents', { documents: [] }, 400, 'INVALID_REQUEST', 'documents'],
    ['1,001 documents', { documents: Array.from({ length: 1_001 }, () => 'a') }, 400, 'INVALID_REQUEST', 'documents'],
    ['an empty document', { documents: ['a', ''] }, 400, 'INVALID_REQUEST', 'documents'],
    ['no result', { top_n: 0 }, 400, 'INVALID_REQUEST', 'top_n'],
    ['an embedding model', { model: 'tiny-bert' }, 400, 'INVALID_MODEL', 'model'],
    ['an unknown model', { model: 'nobody' }, 404, 'MODEL_NOT_FOUND', 'model'],
  ])('rejects %s, and costs nothing', async (_name, wrong, status, code, param) => {
    const paid = async () => {
      await platform.closedJobs();
      return await platform.query(
        "SELECT sum(charged_nano) AS total, count(*) FILTER (WHERE state = 'open') AS open FROM holds",
      );
    };
    const before = await paid();
    const response = await post({ model: 'default', query, documents: texts, ...wrong });
    const { error } = (await response.json()) as { error: object };
    expect({ status: response.status, ...error }).toMatchObject({ status, code, param });
    expect(await paid()).toEqual(before);
  });
});
