import { describe, expect, it } from 'vitest';
import { RerankRun } from '#test/rerank-run';
import type { PairRow } from './rerank-request.js';
import { RerankEngine } from './rerank.engine.js';

const maxTokens = 4_003;

/** A word is a token and its id is its length; the logit of a pair is the sum of the ids of the document. */
function setUp(logitOf = ({ ids, types }: PairRow) => ids.reduce((sum, id, at) => sum + id * (types[at] ?? 0), 0)) {
  const run = new RerankRun();
  const batches: number[][] = [];
  const engine = new RerankEngine({
    tokenizer: {
      open: (text, limit) => {
        const first = text.split(' ').map((word) => word.length);
        return {
          tokens: first.length,
          room: limit - 3 - first.length,
          join: (document, max) => {
            const second = document
              .split(' ')
              .map((word) => word.length)
              .slice(0, max);
            return {
              ids: Int32Array.from([0, ...first, 0, ...second, 0]),
              types: Int32Array.from([...[0, ...first].map(() => 0), 0, ...second.map(() => 1), 0]),
            };
          },
        };
      },
    },
    maxTokens,
    encode: async (rows) => {
      batches.push(rows.map(({ length }) => length));
      return rows.map((row) => Float32Array.of(logitOf(row)));
    },
    batch: { tokens: 64, rows: 8 },
    slots: 4,
    sink: run.sink,
  });
  run.engine = engine;
  return { run, engine, batches };
}

const words = (count: number) => Array.from({ length: count }, () => 'a').join(' ');
const sigmoid = (logit: number) => Math.fround(1 / (1 + Math.exp(-logit)));

describe('RerankEngine', () => {
  it('returns the score of each document in its place, from batches of similar length', async () => {
    const { run, batches } = setUp();
    const [first, second] = await Promise.all([
      run.rerank({ query: 'q', documents: [words(2), words(9), words(3)] }),
      run.rerank({ query: 'q', documents: [words(10), words(2)] }),
    ]);
    expect(first?.scores).toEqual([2, 9, 3].map(sigmoid));
    expect(second?.scores).toEqual([10, 2].map(sigmoid));
    // The query and three special tokens are read with every document.
    expect([first?.tokens, second?.tokens]).toEqual([14 + 3 * 4, 12 + 2 * 4]);
    expect(batches).toHaveLength(2);
  });

  it('refuses a request with too many tokens in all, and runs nothing', async () => {
    const { run, batches } = setUp();
    const documents = Array.from({ length: 1_000 }, () => words(4_000));
    await expect(run.rerank({ query: 'q', documents })).rejects.toThrow(
      /^TOO_MANY_TOKENS: A request may have at most 2000000 tokens, .* The first 500 documents have more\. \(documents\)$/,
    );
    expect(batches).toEqual([]);
  });

  it('fails a document whose score is not finite, and no other request', async () => {
    const { run } = setUp(({ ids }) => (ids.length === 6 ? Number.NaN : 0));
    const [bad, good] = await Promise.allSettled([
      run.rerank({ query: 'q', documents: [words(2)] }),
      run.rerank({ query: 'q', documents: [words(3)] }),
    ]);
    expect(bad).toMatchObject({ reason: { message: expect.stringMatching(/^INFERENCE_FAILED/) as string } });
    expect(good).toMatchObject({ value: { scores: [0.5] } });
  });

  it('supports no other task', () => {
    const { run, engine } = setUp();
    const events: object[] = [];
    Object.assign(run, { hear: (_id: string, event: object) => void events.push(event) });
    engine.submit({ id: 'x', task: 'embed', input: { texts: ['a'], dimensions: null } });
    expect(events).toMatchObject([{ type: 'failed', error: { code: 'INVALID_MODEL' } }]);
  });
});
