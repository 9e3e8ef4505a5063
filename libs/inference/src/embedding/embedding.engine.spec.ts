import { describe, expect, it } from 'vitest';
import { EmbeddingRun } from '#test/embedding-run';
import { EmbeddingEngine, type EmbeddingEngineOptions } from './embedding.engine.js';

const longest = 50;

/** Encoder that maps a text to its number of words and letters; each word is a token. */
function setUp(overrides: Partial<EmbeddingEngineOptions> = {}) {
  const run = new EmbeddingRun();
  const batches: number[][] = [];
  const engine = new EmbeddingEngine({
    tokenize: (text, limit) => {
      const ids = Int32Array.from(text.split(' '), (word) => word.length);
      return ids.length > limit ? { tooLong: String(ids.length) } : { ids };
    },
    encode: async (rows) => {
      batches.push(rows.map(({ length }) => length));
      return rows.map((row) =>
        Float32Array.of(
          row.length,
          row.reduce((sum, id) => sum + id, 0),
          1,
          1,
        ),
      );
    },
    maxTokens: longest,
    normalize: false,
    batch: { tokens: 64, rows: 8 },
    slots: 4,
    sink: run.sink,
    ...overrides,
  });
  run.engine = engine;
  return { run, engine, batches };
}

const words = (count: number) => Array.from({ length: count }, () => 'ab').join(' ');

describe('EmbeddingEngine', () => {
  it('returns each vector at the position of its text and counts the tokens per request', async () => {
    const { run, batches } = setUp();
    const [first, second] = await Promise.all([
      run.embed([words(3), words(20), words(4)]),
      run.embed([words(21), words(3)]),
    ]);
    expect(first?.vectors.map(([tokens]) => tokens)).toEqual([3, 20, 4]);
    expect(second?.vectors.map(([tokens]) => tokens)).toEqual([21, 3]);
    expect([first?.tokens, second?.tokens]).toEqual([27, 24]);
    expect(batches.map((batch) => batch.toSorted((left, right) => left - right))).toEqual([
      [20, 21],
      [3, 3, 4],
    ]);
    expect(run.engine.stats()).toMatchObject({ slots: 4, running: 0, waiting: 0, stepsTotal: 2 });
  });

  it('picks up a request submitted in the same event-loop turn in which the queue ran empty', async () => {
    const { run } = setUp();
    for (let round = 0; round < 50; round++) expect((await run.embed([words(2)])).tokens).toBe(2);
  });

  it('truncates vectors to the requested dimensions and normalizes them', async () => {
    const { run } = setUp();
    const { vectors } = await run.embed([words(3)], 2);
    expect([...(vectors[0] ?? [])]).toEqual([
      expect.closeTo(3 / Math.hypot(3, 6), 6),
      expect.closeTo(6 / Math.hypot(3, 6), 6),
    ]);
  });

  it('rejects a request with a text that is too long before computing anything', async () => {
    const { run, batches } = setUp();
    const long = [...Array.from({ length: 30 }, () => words(2)), words(51)];
    await expect(run.embed(long)).rejects.toThrow(
      "TOO_MANY_TOKENS: This model's maximum context length is 50 tokens. However, the text at position 30 has 51 tokens. (input[30])",
    );
    expect(batches).toEqual([]);
    await expect(run.embed([words(51)])).rejects.toThrow('the input has 51 tokens. (input)');
  });

  it('reads token ids where the model knows them as its own', async () => {
    const readIds = (ids: readonly number[]) => (ids[0] === 7 ? { ids: Int32Array.from(ids) } : null);
    const { run } = setUp({ readIds });
    const { vectors, tokens } = await run.embed({
      tokenIds: [
        [7, 1],
        [7, 1, 1],
      ],
    });
    expect([vectors.map(([length]) => length), tokens]).toEqual([[2, 3], 5]);
    await expect(run.embed({ tokenIds: [[7], [8]] })).rejects.toThrow(/^INVALID_REQUEST: .*\(input\[1\]\)$/);
    await expect(setUp().run.embed({ tokenIds: [[7]] })).rejects.toThrow(/^INVALID_REQUEST: .*\(input\)$/);
  });

  it('ends a cancelled request with the vectors computed so far and skips the rest', async () => {
    const { run, batches, engine } = setUp({ batch: { tokens: 64, rows: 1 } });
    const texts = Array.from({ length: 20 }, () => words(5));
    let own = '';
    const cancelled = run.embed(texts, null, (id) => (own = id));
    const other = run.embed([words(6)]);
    while (batches.length < 3) await new Promise((resolve) => setImmediate(resolve));
    engine.cancel(own);
    engine.cancel('nobody');
    const { tokens, cancelled: isCancelled, vectors } = await cancelled;
    expect(isCancelled).toBe(true);
    expect(tokens).toBe(vectors.filter(Boolean).length * 5);
    expect(tokens).toBeGreaterThan(0);
    expect((await other).tokens).toBe(6);
    expect(batches.length).toBeLessThan(8);
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0 });
  });

  it('counts the running batch when its request is cancelled', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { run, engine } = setUp({
      encode: async (rows) => {
        await held;
        return rows.map(() => Float32Array.of(1));
      },
    });
    let own = '';
    const cancelled = run.embed([words(5), words(5)], null, (id) => (own = id));
    await new Promise((resolve) => setTimeout(resolve, 20));
    engine.cancel(own);
    release();
    expect(await cancelled).toMatchObject({ cancelled: true, tokens: 10 });
  });

  it('ends a request that is cancelled before it is processed', async () => {
    const { run, engine, batches } = setUp();
    const cancelled = run.embed([words(5)], null, (id) => engine.cancel(id));
    expect(await cancelled).toMatchObject({ cancelled: true, tokens: 0 });
    expect(batches).toEqual([]);
  });

  it('fails the requests of a failed run and continues with the others', async () => {
    const { run } = setUp({
      encode: async (rows) => {
        if (rows.some(({ length }) => length === 13)) throw new Error('bad graph');
        return rows.map(() => Float32Array.of(1));
      },
    });
    const [bad, good] = await Promise.allSettled([run.embed([words(13), words(40)]), run.embed([words(40)])]);
    expect(bad).toMatchObject({ reason: { message: expect.stringMatching(/^INFERENCE_FAILED/) as string } });
    expect(good).toMatchObject({ value: { tokens: 40 } });
  });

  it('reports a lost device when its memory is lost', async () => {
    const { run } = setUp({ encode: () => Promise.reject(new Error('std::bad_alloc')) });
    await expect(run.embed([words(3)])).rejects.toThrow(/^DEVICE_LOST/);
  });

  it('fails a text whose vector is not finite, and no other request', async () => {
    const { run } = setUp({
      encode: async (rows) => rows.map(({ length }) => Float32Array.of(length === 3 ? Number.NaN : 1)),
    });
    const [bad, good] = await Promise.allSettled([run.embed([words(3)]), run.embed([words(4)])]);
    expect(bad).toMatchObject({ reason: { message: expect.stringMatching(/^INFERENCE_FAILED/) as string } });
    expect(good).toMatchObject({ value: { tokens: 4 } });
  });

  it('rejects unknown tasks, and every task after close', async () => {
    let released = 0;
    const events: object[] = [];
    const { engine, run } = setUp({
      onClose: async () => void released++,
      encode: async (rows) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return rows.map(() => Float32Array.of(1));
      },
    });
    const other = setUp({ sink: (batch) => void events.push(...batch) });
    other.engine.submit({ id: 'x', task: 'upscale', input: {} });
    expect(events).toMatchObject([['x', { type: 'failed', error: { code: 'INVALID_MODEL' } }]]);
    const open = run.embed([words(3)]).catch((error: Error) => error.message);
    await new Promise((resolve) => setImmediate(resolve));
    await engine.close();
    expect(await open).toMatch(/^MODEL_OFFLINE/);
    await expect(run.embed([words(3)])).rejects.toThrow(/^MODEL_OFFLINE/);
    expect(released).toBe(1);
  });
});
