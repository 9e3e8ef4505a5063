import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadFamilyEngine } from '#inference';
import { jfkRecording } from '#test/jfk-recording';
import { wavSamples } from '#test/wav-file';
import { RecognizerRun } from '../conformance/families/recognizer-run.js';
import { installedWeights, weightsHome } from './starter-weights.js';

interface Case {
  language: string;
  translate: boolean;
  tokens: number[];
  text: string;
}

/** What CTranslate2 writes with the same weights for the same recording; `tools/reference/whisper_base.py`. */
const reference = JSON.parse(readFileSync(new URL('./__fixtures__/jfk-base.json', import.meta.url), 'utf8')) as {
  language: string;
  cases: Case[];
  words: { word: string; start: number }[];
};

/** The reference has other features behind the end of the recording. */
const toleranceSeconds = 0.1;

describe('whisper-base, converted from CTranslate2', () => {
  let run: RecognizerRun;
  let speech: Float32Array;

  beforeAll(async () => {
    speech = wavSamples(await jfkRecording(weightsHome));
    const { folder, manifest } = await installedWeights('whisper-base');
    const { decoderFile = '' } = manifest.familyOptions ?? {};
    // The reference also gets the silence.
    run = await RecognizerRun.load(loadFamilyEngine, folder, { ...manifest, familyOptions: { decoderFile } });
  });
  afterAll(() => run.close());

  it('detects the language', async () => {
    expect((await run.recognize({ samples: speech })).memory.language).toBe(reference.language);
  });

  it.each(reference.cases)(
    'writes the tokens of CTranslate2 in $language (translation: $translate): $text',
    async ({ language, translate, tokens, text }) => {
      const { segments } = await run.recognize({ samples: speech, language, translate, temperature: 0 });
      expect(segments.map((segment) => segment.text).join('')).toBe(text);
      expect(segments.flatMap((segment) => segment.tokens)).toEqual(tokens);
    },
  );

  it('finds the words at their times', async () => {
    const { segments } = await run.recognize({ samples: speech, language: 'en', timestamps: 'word' });
    const words = segments.flatMap((segment) => segment.words ?? []);
    const expected = reference.words;
    const plain = (word: string) => word.toLowerCase().replaceAll(/[^a-z]/g, '');
    expect(words.map(({ word }) => plain(word))).toEqual(expected.map(({ word }) => plain(word)));
    // Behind punctuation, a long word begins later than its attention.
    const compared = words.filter((_, index) => !/[.,]$/.test(words[index - 1]?.word ?? ''));
    const late = compared.map((word) => Math.abs(word.start - (expected[words.indexOf(word)]?.start ?? -1)));
    expect(compared.length).toBe(words.length - 2);
    expect(Math.max(...late)).toBeLessThanOrEqual(toleranceSeconds);
  });
});
