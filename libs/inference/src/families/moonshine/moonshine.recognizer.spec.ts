import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { SpeechWindow } from '../../recognition/block-recognizer.js';
import type { MergedDecoder } from '../../recognition/merged-decoder.js';
import type { GraphSession, TensorData } from '../../runtime/graph-session.js';
import type { TextTokenizer } from '../../text/index.js';
import { MoonshineRecognizer } from './moonshine.recognizer.js';

const context = {
  yieldToEventLoop: async () => undefined,
  measure: (run: () => Promise<unknown>) => run(),
} as unknown as TaskContext;

/** Model that emits `next` of the tokens so far; 1 starts, 2 ends, others are words. */
function setUp(next: (written: number[]) => number) {
  const encodedLengths: number[] = [];
  const fed: number[] = [];
  const encoder = {
    tensor: (_type: string, data: TensorData, dims: number[]) => ({ type: 'float32', data, dims }),
  } as unknown as GraphSession;
  const decoder = {
    encode: async (_encoder: unknown, { input_values: input }: { input_values: { dims: number[] } }) => {
      encodedLengths.push(input.dims[1] ?? 0);
      return {};
    },
    begin: () => ({
      release: () => undefined,
      feed: async ([id = 0]: number[]) => {
        fed.push(id);
        const logits = new Float32Array(40);
        logits[next(fed.slice(1))] = 50;
        return { logits };
      },
    }),
  } as unknown as MergedDecoder;
  const tokenizer = {
    decode: (ids: number[]) => ids.map((id) => `w${id}`).join(' '),
  } as unknown as TextTokenizer;
  const recognizer = new MoonshineRecognizer({ encoder, decoder, tokenizer, startToken: 1, endToken: 2 });
  const recognize = (seconds: number, overrides: Partial<SpeechWindow> = {}) =>
    recognizer.recognize(
      {
        samples: new Float32Array(seconds * 16_000),
        languages: [],
        isCut: false,
        prompt: null,
        temperature: null,
        timestamps: 'word',
        ...overrides,
      },
      context,
    );
  return { recognize, encodedLengths, fed };
}

describe('a window of Moonshine', () => {
  it('is one segment as long as its speech, without word times', async () => {
    const { recognize, encodedLengths, fed } = setUp((written) => (written.length < 3 ? 5 + written.length : 2));
    const { segments, needsOverlap, language } = await recognize(3);
    expect(segments).toMatchObject([{ text: ' w5 w6 w7', start: 0, end: 3, words: null, tokens: [5, 6, 7] }]);
    expect([needsOverlap, language, encodedLengths, fed]).toEqual([false, 'en', [48_000], [1, 5, 6, 7]]);
  });

  it.each([
    ['model', { translate: true }],
    ['prompt', { prompt: 'Ada' }],
    ['language', { languages: ['de'] }],
  ])('is refused by its %s for what the model cannot follow', async (param, overrides) => {
    const { recognize } = setUp(() => 2);
    await expect(recognize(3, overrides)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param });
  });

  it('omits the last word of a cut window and asks for an overlap', async () => {
    const { recognize } = setUp((written) => (written.length < 3 ? 5 + written.length : 2));
    const { segments, needsOverlap } = await recognize(20, { isCut: true });
    expect([segments[0]?.text, needsOverlap]).toEqual([' w5 w6', true]);
  });

  it('limits the tokens to what can be spoken in its duration', async () => {
    let state = 7;
    const { recognize } = setUp(() => (state = ((state * 16_807) % 2_147_483_647) % 30) + 5);
    expect((await recognize(2)).segments[0]?.tokens).toHaveLength(13);
  });

  it('stops in a loop and keeps one round of it', async () => {
    const { recognize, fed } = setUp((written) => 5 + (written.length % 2));
    const { segments } = await recognize(20);
    expect(segments[0]?.tokens).toEqual([5, 6]);
    expect(fed.length).toBeLessThan(60);
  });

  it("is empty for silence, and pads audio shorter than the graph's filters", async () => {
    const { recognize, encodedLengths } = setUp(() => 2);
    expect((await recognize(0.01)).segments).toEqual([]);
    expect(encodedLengths).toEqual([1_600]);
  });
});
