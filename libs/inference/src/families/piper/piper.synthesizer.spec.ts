import { describe, expect, it } from 'vitest';
import { readPiperVoice } from '#model-store/voices';
import { onlyTask, RecordingSession } from '../../speech/__fixtures__/recording-session.js';
import { PronunciationDictionary } from '../../speech/english/pronunciation-dictionary.js';
import { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import { maxSymbols, PiperSynthesizer } from './piper.synthesizer.js';

const phonemeIds = { _: [0], '^': [1], $: [2], ' ': [3], '.': [10], ə: [59], ʊ: [100], ˈ: [120], ː: [122], h: [20] };

const published = {
  audio: { sample_rate: 22_050 },
  espeak: { voice: 'en-us' },
  inference: { noise_scale: 0.667, length_scale: 1.5, noise_w: 0.8 },
  phoneme_type: 'espeak',
  phoneme_map: {},
  phoneme_id_map: { ...phonemeIds, l: [24], o: [27] },
  num_speakers: 1,
  speaker_id_map: {},
  dataset: 'joe',
};

function setUp(stored: Record<string, unknown> = published) {
  const session = new RecordingSession({ input: 'input', output: 'output', ones: 3 });
  const voice = readPiperVoice(stored);
  const dictionary = PronunciationDictionary.of({ hello: 'HH AH0 L OW1' });
  const pronouncer = voice.phonemeType === 'espeak' ? new WordPronouncer(dictionary, null) : null;
  const synthesizer = new PiperSynthesizer(session, voice, pronouncer);
  const synthesize = (text: string, settings: { voice?: string; speed?: number } = {}) =>
    synthesizer.synthesize(text, { voice: 'joe', speed: 1, language: null, ...settings }, onlyTask);
  const numbers = (name: string) => session.numbers(name);
  return { session, synthesizer, synthesize, numbers };
}

describe('PiperSynthesizer', () => {
  it('puts a pad after each symbol, between start and end', async () => {
    const { session, synthesizer, synthesize, numbers } = setUp();
    const samples = await synthesize('Hello.');
    // həlˈoʊ.
    expect(numbers('input')).toEqual([1, 0, 20, 0, 59, 0, 24, 0, 120, 0, 27, 0, 100, 0, 10, 0, 2]);
    expect(numbers('input_lengths')).toEqual([17]);
    expect(session.fed[0]).not.toHaveProperty('sid');
    expect(samples.length).toBe(17);
    expect([synthesizer.voices, synthesizer.sampleRate]).toEqual([['joe'], 22_050]);
  });

  it('takes noise and length from the voice, and lengthens it for a slow pace', async () => {
    const { synthesize, numbers } = setUp();
    await synthesize('Hello.', { speed: 0.5 });
    expect(numbers('scales')).toEqual([Math.fround(0.667), 3, Math.fround(0.8)]);
  });

  it('speaks as the speaker that is named', async () => {
    const { synthesizer, synthesize, numbers } = setUp({
      ...published,
      num_speakers: 3,
      speaker_id_map: { ann: 2, ben: 1 },
    });
    expect(synthesizer.voices).toEqual(['ann', 'ben']);
    await synthesize('Hello.', { voice: 'ann' });
    expect(numbers('sid')).toEqual([2]);
  });

  it('numbers speakers without a name', () => {
    expect(setUp({ ...published, num_speakers: 2 }).synthesizer.voices).toEqual(['speaker-0', 'speaker-1']);
  });

  it('reads the letters of a voice of any language, and replaces symbols as it asks', async () => {
    const { synthesize, numbers } = setUp({
      ...published,
      phoneme_type: 'text',
      espeak: { voice: 'uk' },
      phoneme_id_map: { ...phonemeIds, и: [40], ['\u0306']: [41], е: [42] },
      phoneme_map: { є: ['и', 'е'] },
    });
    await synthesize('Йє');
    expect(numbers('input')).toEqual([1, 0, 40, 0, 41, 0, 40, 0, 42, 0, 2]);
  });

  it('returns no samples for text without a word', async () => {
    const { session, synthesize } = setUp();
    expect((await synthesize('… — !')).length).toBe(0);
    expect(session.fed).toEqual([]);
  });

  it('splits text that is too long for one run', async () => {
    const { session, synthesize } = setUp();
    await synthesize('hello '.repeat(300));
    expect(session.fed.length).toBeGreaterThan(1);
    for (const { input } of session.fed) expect(input?.dims[1]).toBeLessThanOrEqual(2 * maxSymbols + 3);
  });
});

describe('readPiperVoice', () => {
  it.each([
    [{ phoneme_type: 'pinyin' }, '`phoneme_type`'],
    [{ espeak: { voice: 'de' } }, '`espeak.voice` is "de"'],
    [{ audio: {} }, '`audio.sample_rate`'],
    [{ phoneme_id_map: {} }, '`phoneme_id_map` lacks the symbol `^`'],
    [{ phoneme_id_map: { ...phonemeIds, a: ['b'] } }, '`phoneme_id_map` is wrong for "a"'],
    [{ phoneme_map: { a: 'b' } }, '`phoneme_map` is wrong for "a"'],
    [{ num_speakers: 0 }, '`num_speakers`'],
    [{ num_speakers: 2, speaker_id_map: { ann: 2 } }, '`speaker_id_map`'],
    [{ inference: { noise_scale: 'loud' } }, '`inference.noise_scale`'],
    [{ inference: { length_scale: 0 } }, '`inference.length_scale`'],
  ])('refuses %j, naming the member', (change, named) => {
    expect(() => readPiperVoice({ ...published, ...change })).toThrow(named);
  });
});
