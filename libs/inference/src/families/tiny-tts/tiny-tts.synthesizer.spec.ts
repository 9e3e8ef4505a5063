import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GraphSession, GraphTensor, TensorData } from '../../runtime/graph-session.js';
import { PronunciationDictionary } from '../../speech/english/pronunciation-dictionary.js';
import { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import { maxSymbols, TinyTtsSynthesizer } from './tiny-tts.synthesizer.js';

const symbols = ['_', 'hh', 'ah', 'l', 'ow', '.', 'UNK'];

/** Records its feeds and returns one sample per symbol. */
class RecordingSession implements GraphSession {
  readonly inputs = [];
  readonly outputs = [];
  readonly provider = 'cpu';
  readonly providerNote = null;
  readonly fed: Record<string, GraphTensor>[] = [];

  tensor(type: string, data: TensorData, dims: readonly number[]): GraphTensor {
    return { type, data, dims };
  }

  run(feeds: Record<string, GraphTensor>): Promise<Record<string, GraphTensor>> {
    this.fed.push(feeds);
    const length = feeds.x?.dims[1] ?? 0;
    return Promise.resolve({
      audio: { type: 'float32', data: new Float32Array(length).fill(1), dims: [1, 1, length] },
    });
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}

const context = {
  yieldToEventLoop: () => Promise.resolve(),
  measure: (run: () => Promise<unknown>) => run(),
} as unknown as TaskContext;

function setUp() {
  const session = new RecordingSession();
  const dictionary = PronunciationDictionary.of({ hello: 'HH AH0 L OW1' });
  const metadata = {
    languageId: 2,
    toneOffset: 7,
    sampleRate: 44_100,
    symbols: new Map(symbols.map((symbol, id) => [symbol, id])),
    speakers: new Map([['male', 0]]),
  };
  const synthesizer = new TinyTtsSynthesizer(session, metadata, new WordPronouncer(dictionary, null));
  const synthesize = (text: string, speed = 1) =>
    synthesizer.synthesize(text, { voice: 'male', speed, language: null }, context);
  const numbers = (name: string) => {
    const data = session.fed[0]?.[name]?.data ?? [];
    return [...(data as Iterable<number | bigint>)].map(Number);
  };
  return { session, synthesize, numbers };
}

describe('TinyTtsSynthesizer', () => {
  it('puts a blank around every symbol, and pads at both ends', async () => {
    const { synthesize, numbers } = setUp();
    const samples = await synthesize('Hello.');
    expect(numbers('x')).toEqual([0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 0]);
    expect(numbers('tone')).toEqual([0, 7, 0, 7, 0, 8, 0, 7, 0, 9, 0, 7, 0, 7, 0]);
    expect(numbers('language')).toEqual([0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0]);
    expect(numbers('x_lengths')).toEqual([15]);
    expect(samples.length).toBe(15);
  });

  it('lengthens the duration for a slow pace', async () => {
    const { synthesize, numbers } = setUp();
    await synthesize('Hello.', 0.5);
    expect(numbers('length_scale')).toEqual([2]);
  });

  it('returns no samples for empty text', async () => {
    const { session, synthesize } = setUp();
    expect((await synthesize('… — !')).length).toBe(0);
    expect(session.fed).toEqual([]);
  });

  it('splits text that is too long for one run', async () => {
    const { session, synthesize } = setUp();
    await synthesize('hello '.repeat(300));
    expect(session.fed.length).toBe(Math.ceil((300 * 4) / maxSymbols));
  });
});
