import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { SpeechWindow } from '../../recognition/block-recognizer.js';
import { ParakeetRecognizer } from './parakeet.recognizer.js';
import type { NormalizedFeatures } from './log-mel.js';
import type { TransducerGraphs } from './transducer-graphs.js';
import { TransducerVocabulary } from './transducer-vocabulary.js';

const tokens = ['<unk>', '▁one', '▁two', '▁three', '.', '<blk>'];
const blank = tokens.length - 1;
const framesPerSecond = 12.5;

const context = {
  yieldToEventLoop: async () => undefined,
  measure: (run: () => Promise<unknown>) => run(),
} as unknown as TaskContext;

/** Model that writes the tokens at their seconds, each for half a second. */
function setUp(script: [token: string, second: number][], languages: string[] = []) {
  const encodedLengths: number[] = [];
  const at = new Map(script.map(([token, second]) => [Math.round(second * framesPerSecond), tokens.indexOf(token)]));
  const graphs = {
    bands: 8,
    encode: async ({ length }: NormalizedFeatures) => {
      encodedLengths.push(length);
      return { frames: Math.ceil(length / 8), frame: (index: number) => Float32Array.of(index) };
    },
    begin: () => ({
      logits: async ([frame = 0]: Float32Array) => {
        const logits = new Float32Array(tokens.length + 8);
        const token = at.get(frame);
        logits[token ?? blank] = 50;
        logits[tokens.length + (token === undefined ? 1 : 6)] = 50;
        return logits;
      },
      accept: () => undefined,
    }),
  } as unknown as TransducerGraphs;
  const vocabulary = new TransducerVocabulary(tokens);
  const recognizer = new ParakeetRecognizer({
    graphs,
    vocabulary,
    languages,
    subsamplingFactor: 8,
    maxTokensPerFrame: 10,
  });
  const recognize = (seconds: number, overrides: Partial<SpeechWindow> = {}) => {
    const samples = new Float32Array(seconds * 16_000);
    const defaults = { languages: [], isCut: false, prompt: null, temperature: null, timestamps: 'word' } as const;
    return recognizer.recognize({ samples, ...defaults, ...overrides }, context);
  };
  return { recognize, encodedLengths };
}

describe('a window of Parakeet', () => {
  it('is a segment per sentence, with the times of words', async () => {
    const { recognize } = setUp([
      ['▁one', 0.48],
      ['▁two', 1.2],
      ['.', 2],
      ['▁three', 4],
    ]);
    const { segments, transcribedUntil, needsOverlap } = await recognize(5);
    expect(segments).toMatchObject([
      { text: ' one two.', start: 0.48, end: 1.68, tokens: [1, 2, 4], noSpeechProb: 0 },
      { text: ' three', start: 4, end: 4.48, tokens: [3] },
    ]);
    expect(segments[0]?.words?.map(({ word }) => word)).toEqual(['one', 'two.']);
    expect(segments[0]?.words?.[0]?.probability).toBeCloseTo(1, 6);
    expect([transcribedUntil, needsOverlap]).toEqual([null, false]);
  });

  it('has no words where none are wanted, and no segments in silence', async () => {
    expect((await setUp([['▁one', 1]]).recognize(2, { timestamps: 'segment' })).segments[0]?.words).toBeNull();
    expect((await setUp([]).recognize(2)).segments).toEqual([]);
  });

  it('ends within its audio', async () => {
    const { segments } = await setUp([['▁one', 1.92]]).recognize(2);
    expect(segments).toMatchObject([{ start: 1.92, end: 2, words: [{ start: 1.92, end: 2 }] }]);
  });

  it('omits a sentence that its end cuts, and is continued in the pause before it', async () => {
    const { recognize } = setUp([
      ['▁one', 4],
      ['.', 4.8],
      ['▁two', 12],
      ['▁three', 18],
    ]);
    const { segments, transcribedUntil } = await recognize(20, { isCut: true });
    expect(segments.map(({ text }) => text)).toEqual([' one.']);
    expect(transcribedUntil).toBeCloseTo((4.48 + 12) / 2, 6);
  });

  it('omits the last word of a cut sentence that began early, and of nothing else', async () => {
    const { recognize } = setUp([
      ['▁one', 4],
      ['▁two', 12],
      ['▁three', 18],
    ]);
    const { segments, transcribedUntil } = await recognize(20, { isCut: true });
    expect(segments.map(({ text }) => text)).toEqual([' one two']);
    expect(transcribedUntil).toBeCloseTo((12.48 + 18) / 2, 6);
    const whole = await setUp([['▁one', 4]]).recognize(20, { isCut: true });
    expect([whole.segments.length, whole.transcribedUntil]).toEqual([1, null]);
  });

  it('is in the language of the hint or the only one, and otherwise unknown', async () => {
    const languageOf = async (languages: string[], hints: string[]) =>
      (await setUp([], languages).recognize(1, { languages: hints })).language;
    expect(await languageOf(['de', 'en'], ['de'])).toBe('de');
    expect(await languageOf(['en'], [])).toBe('en');
    expect(await languageOf(['de', 'en'], [])).toBeNull();
    expect(await languageOf([], ['ja'])).toBe('ja');
  });

  it.each([
    ['model', { translate: true }],
    ['prompt', { prompt: 'Ada' }],
    ['language', { languages: ['ja'] }],
  ])('is refused by its %s for what the model cannot follow', async (param, overrides) => {
    const { recognize } = setUp([], ['de', 'en']);
    await expect(recognize(3, overrides)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param });
  });

  it('is padded to a length that can be normalized', async () => {
    const { recognize, encodedLengths } = setUp([]);
    await recognize(0.01);
    expect(encodedLengths).toEqual([10]);
  });
});
