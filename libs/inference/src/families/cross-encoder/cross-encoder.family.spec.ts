import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectScores } from '#test/expected-scores';
import { hostOptions } from '#test/host-options';
import { RerankRun } from '#test/rerank-run';
import { convertTinyEncoder, tinyBertFolder } from '#test/tiny-encoder';
import { tinyRerankerFolder, tinyRerankerReference, tinyRerankers } from '#test/tiny-reranker';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import type { TaskEngine } from '../../contract/task.js';
import { loadCrossEncoderFamily } from './cross-encoder.family.js';

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-rerankers-'));
  await convertTinyEncoder(tinyBertFolder, join(home, 'tiny-bert'));
  for (const name of tinyRerankers) await convertTinyEncoder(tinyRerankerFolder(name), join(home, name));
});
afterAll(() => rm(home, { recursive: true, force: true }));

async function load(model: string, options: Partial<HostLoadOptions> = {}) {
  const run = new RerankRun();
  const loaded = await loadCrossEncoderFamily(
    hostOptions({ directory: join(home, model), family: 'cross-encoder', contextLength: 258, ...options }),
    run.sink,
  );
  run.engine = loaded.engine as TaskEngine;
  return { run, loaded, engine: run.engine };
}

describe.each(tinyRerankers)('%s', (model) => {
  it('returns the scores of the reference, padded in a batch and alone', async () => {
    const { run, loaded, engine } = await load(model);
    expect(loaded.providerNote).toBeNull();
    await expectScores(run, tinyRerankerReference(model));
    await engine.close();
  });
});

describe('a cross-encoder', () => {
  const { query, texts, ids } = tinyRerankerReference('tiny-bert-reranker');
  const queryTokens = 5;

  it('reads a document as far as it fits beside the query', async () => {
    const { run, engine } = await load('tiny-bert-reranker', { contextLength: 20 });
    const long = 'the river was happy '.repeat(50_000);
    const { scores, tokens } = await run.rerank({ query, documents: [long, 'the river was happy '.repeat(3)] });
    expect(tokens).toBe(20 + 20);
    expect(scores[0]).toBe(scores[1]);
    await engine.close();
  });

  it('cuts documents earlier on request', async () => {
    const { run, engine } = await load('tiny-bert-reranker');
    const cut = await run.rerank({ query, documents: [texts[1] ?? ''], maxTokensPerDocument: 4 });
    const short = await run.rerank({ query, documents: ['The river was happy'] });
    expect([cut.tokens, cut.scores]).toEqual([short.tokens, short.scores]);
    expect(cut.tokens).toBe(3 + queryTokens + 4);
    await engine.close();
  });

  it('refuses a query that leaves no room for a document, and computes nothing', async () => {
    const { run, engine } = await load('tiny-bert-reranker', { contextLength: 20 });
    const steps = engine.stats().stepsTotal;
    const documents = ['a'];
    await expect(run.rerank({ query: 'river '.repeat(17), documents })).rejects.toThrow(
      /^TOO_MANY_TOKENS: This model reads at most 20 tokens .* The query has 17 or more, .* \(query\)$/,
    );
    expect((await run.rerank({ query: 'river '.repeat(16), documents })).tokens).toBe(20);
    await expect(run.rerank({ query: 'river '.repeat(1_000_000), documents })).rejects.toThrow('TOO_MANY_TOKENS');
    expect(engine.stats().stepsTotal).toBe(steps + 1);
    await engine.close();
  });

  it('ends a cancelled request with the tokens computed so far', async () => {
    const { run, engine } = await load('tiny-bert-reranker', { familyOptions: { batchTokens: 1 } });
    let own = '';
    const documents = Array.from({ length: 500 }, () => texts[1] ?? '');
    const cancelled = run.rerank({ query, documents }, (id) => (own = id));
    const steps = engine.stats().stepsTotal;
    while (engine.stats().stepsTotal < steps + 3) await new Promise((resolve) => setImmediate(resolve));
    engine.cancel(own);
    const { tokens, scores, cancelled: isCancelled } = await cancelled;
    expect([isCancelled, tokens % (ids[1]?.length ?? 0)]).toEqual([true, 0]);
    expect(tokens).toBe(scores.filter((score) => score > 0).length * (ids[1]?.length ?? 0));
    expect(tokens).toBeLessThan(500 * (ids[1]?.length ?? 0));
    await engine.close();
  });

  it('needs a graph with one score', async () => {
    await expect(load('tiny-bert')).rejects.toThrow('its output last_hidden_state is not one score per text');
  });
});
