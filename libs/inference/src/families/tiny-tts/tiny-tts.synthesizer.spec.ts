import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GraphSession, GraphTensor, TensorData } from '../../runtime/graph-session.js';
import { PronunciationDictionary } from '../../speech/english/pronunciation-dictionary.js';
import { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import { maxSymbols, TinyTtsSynthesizer } from './tiny-tts.synthesizer.js';

const symbols = ['_', 'hh', 'ah', 'l', 'ow', '.', 'UNK'];

/** Keeps what it is fed and answers one sample for every symbol. */
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
  const speaker = new TinyTtsSynthesizer(session, metadata, new WordPronouncer(dictionary, null));
  const say = (text: string, speed = 1) => speaker.say(text, { voice: 'male', speed, language: null }, context);
  const numbers = (name: string) => {
    const data = session.fed[0]?.[name]?.data ?? [];
    return [...(data as Iterable<number | bigint>)].map(Number);
  };
  return { session, say, numbers };
}

describe('TinyTtsSynthesizer', () => {
  it('puts a blank around every symbol, and pads at both ends', async () => {
    const { say, numbers } = setUp();
    const samples = await say('Hello.');
    expect(numbers('x')).toEqual([0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 0]);
    expect(numbers('tone')).toEqual([0, 7, 0, 7, 0, 8, 0, 7, 0, 9, 0, 7, 0, 7, 0]);
    expect(numbers('language')).toEqual([0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0]);
    expect(numbers('x_lengths')).toEqual([15]);
    expect(samples.length).toBe(15);
  });

  it('stretches the time for a slow pace', async () => {
    const { say, numbers } = setUp();
    await say('Hello.', 0.5);
    expect(numbers('length_scale')).toEqual([2]);
  });

  it('says nothing where there is nothing to say', async () => {
    const { session, say } = setUp();
    expect((await say('… — !')).length).toBe(0);
    expect(session.fed).toEqual([]);
  });

  it('cuts what is too long for one run', async () => {
    const { session, say } = setUp();
    await say('hello '.repeat(300));
    expect(session.fed.length).toBe(Math.ceil((300 * 4) / maxSymbols));
  });
});
