import { describe, expect, it } from 'vitest';
import { onlyTask, RecordingSession } from '../../speech/__fixtures__/recording-session.js';
import { PronunciationDictionary } from '../../speech/english/pronunciation-dictionary.js';
import { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import { maxSymbols, TinyTtsSynthesizer } from './tiny-tts.synthesizer.js';

const symbols = ['_', 'hh', 'ah', 'l', 'ow', '.', 'UNK'];

function setUp() {
  const session = new RecordingSession({ input: 'x', output: 'audio', ones: 2 });
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
    synthesizer.synthesize(text, { voice: 'male', speed, language: null }, onlyTask);
  const numbers = (name: string) => session.numbers(name);
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
