import { describe, expect, it } from 'vitest';
import type { GraphSession, GraphTensor, TensorDescription } from '../runtime/graph-session.js';
import { SentenceEncoder } from './sentence.encoder.js';
import type { SentenceSettings } from './sentence-settings.js';

const sizes = ['batch', 'sequence'];
const input = (name: string, type = 'int64'): TensorDescription => ({ name, type, shape: sizes });
const tokens: TensorDescription = { name: 'last_hidden_state', type: 'float32', shape: [...sizes, 2] };
const pooler: TensorDescription = { name: 'pooler_output', type: 'float32', shape: ['batch', 2] };
const sentence: TensorDescription = { name: 'sentence_embedding', type: 'float32', shape: ['batch', 2] };
const plain: SentenceSettings = { pooling: 'mean', normalize: true, needsWholeGraph: false };
const both = [input('input_ids'), input('attention_mask')];

type Feeds = Record<string, GraphTensor>;

/** Session whose vector of a token is its id and 1. `scale` looks at the whole batch, as quantised weights do. */
class FakeEncoderSession implements GraphSession {
  readonly provider = 'cpu';
  readonly providerNote = null;
  readonly seen: Feeds[] = [];

  constructor(
    readonly inputs: readonly TensorDescription[],
    readonly outputs: readonly TensorDescription[],
    private readonly bend: (value: number, all: readonly number[]) => number = (value) => value,
  ) {}

  tensor(type: string, data: unknown, dims: readonly number[]): GraphTensor {
    return { type, data, dims };
  }

  async run(feeds: Feeds, [name = '']: readonly string[]): Promise<Feeds> {
    this.seen.push(feeds);
    const { data, dims } = feeds.input_ids as GraphTensor;
    const ids = Array.from(data as ArrayLike<bigint | number>, Number);
    const [rows = 0] = dims;
    if (name === sentence.name) {
      return {
        [name]: { type: 'float32', dims: [rows, 2], data: Float32Array.from({ length: rows * 2 }, (_v, at) => at) },
      };
    }
    const values = Float32Array.from(ids.flatMap((id) => [this.bend(id, ids), 1]));
    return { [name]: { type: 'float32', dims: [...dims, 2], data: values } };
  }

  async release(): Promise<void> {}
}

const numbers = (tensor: GraphTensor | undefined) => Array.from(tensor?.data as ArrayLike<bigint | number>, Number);
const row = (...ids: number[]) => Int32Array.from(ids);

describe('SentenceEncoder', () => {
  it('masks the padding of short rows and leaves it out of the pooling', async () => {
    const session = new FakeEncoderSession([...both, input('token_type_ids')], [tokens]);
    const vectors = await new SentenceEncoder(session, plain, 99).encode([row(2, 4), row(5, 6, 7)]);
    expect(vectors.map((vector) => [...vector])).toEqual([
      [3, 1],
      [6, 1],
    ]);
    const [feeds = {}] = session.seen;
    expect(numbers(feeds.input_ids)).toEqual([2, 4, 99, 5, 6, 7]);
    expect(numbers(feeds.attention_mask)).toEqual([1, 1, 0, 1, 1, 1]);
    expect(numbers(feeds.token_type_ids)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('feeds the inputs of the graph in their types', async () => {
    const session = new FakeEncoderSession(
      [input('input_ids', 'int32'), input('attention_mask', 'int32'), input('position_ids', 'int32')],
      [tokens],
    );
    await new SentenceEncoder(session, plain, 0).encode([row(2, 4), row(5)]);
    const [feeds = {}] = session.seen;
    expect(Object.keys(feeds)).toEqual(['input_ids', 'attention_mask', 'position_ids']);
    expect(feeds.input_ids?.data).toBeInstanceOf(Int32Array);
    expect(numbers(feeds.position_ids)).toEqual([0, 1, 0, 1]);
  });

  it('accepts a graph without token types, and the output of a graph that pools by itself', async () => {
    const pooled = new SentenceEncoder(new FakeEncoderSession(both, [sentence]), plain, 0);
    expect((await pooled.encode([row(1), row(2, 3)])).map((vector) => [...vector])).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const dense = { ...plain, needsWholeGraph: true };
    const whole = new SentenceEncoder(new FakeEncoderSession(both, [tokens, sentence]), dense, 0);
    expect([...((await whole.encode([row(7)]))[0] ?? [])]).toEqual([0, 1]);
  });

  it.each([
    [[input('input_ids')], [tokens], plain, /it takes no attention_mask/],
    [[...both, input('pixel_values')], [tokens], plain, /its input pixel_values is not known/],
    [[input('input_ids', 'float32'), input('attention_mask')], [tokens], plain, /is of type float32/],
    [both, [pooler], plain, /it gives no vectors of tokens/],
    [both, [tokens], { ...plain, needsWholeGraph: true }, /its layers behind the pooling are not in the graph/],
    [
      both,
      [tokens],
      { ...plain, pooling: null },
      /set familyOptions.pooling of the manifest to mean, cls, last or max/,
    ],
  ])('rejects a graph that is not a text encoder (%#)', (inputs, outputs, settings, problem) => {
    expect(() => new SentenceEncoder(new FakeEncoderSession(inputs, outputs), settings, 0)).toThrow(problem);
  });

  it('detects whether a row depends on the other rows of its batch', async () => {
    const rows = [row(2, 4), row(50, 60, 70), row(3)];
    const honest = new SentenceEncoder(new FakeEncoderSession(both, [tokens]), plain, 0);
    expect(await honest.mixesRows(rows)).toBe(false);
    const rounded = (value: number, all: readonly number[]) => {
      const step = Math.max(...all) / 12;
      return Math.round(value / step) * step;
    };
    const mixing = new SentenceEncoder(new FakeEncoderSession(both, [tokens], rounded), plain, 0);
    expect(await mixing.mixesRows(rows)).toBe(true);
  });
});
