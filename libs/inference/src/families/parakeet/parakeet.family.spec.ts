import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelManifest } from '#model-registry/manifest';
import { draftManifest } from '#model-store';
import { RecognizerRun } from '../../../../../test/conformance/families/recognizer-run.js';
import { type DecodedReference, reference, referenceAudio } from './__fixtures__/reference.js';
import { loadParakeetFamily } from './parakeet.family.js';
import { TransducerVocabulary } from './transducer-vocabulary.js';

const rate = 16_000;

function folderOf(layout: string): string {
  return fileURLToPath(new URL(`__fixtures__/${layout}`, import.meta.url));
}

/** Returns the manifest that `models add` drafts, without voice activity detection: a tone is no speech. */
async function draftOf(layout: string): Promise<ModelManifest> {
  const { manifest } = await draftManifest(`file:${folderOf(layout)}`, {});
  const { voiceActivityFile: _omitted, ...familyOptions } = manifest.familyOptions ?? {};
  return { ...manifest, familyOptions };
}

/** Splits the tokens of the reference into words, and returns each with its first time. */
async function wordsOf({ tokens, timestamps }: DecodedReference): Promise<{ word: string; start: number }[]> {
  const vocabulary = await TransducerVocabulary.load(folderOf('joined'));
  const words: { word: string; start: number }[] = [];
  for (const [index, token] of tokens.entries()) {
    const text = vocabulary.textOf(token);
    const last = words.at(-1);
    const begins = text.startsWith(' ') || text === '川';
    if (text !== '' && (begins || last === undefined)) words.push({ word: text, start: timestamps[index] ?? NaN });
    else if (last !== undefined) last.word += text;
  }
  return words.map(({ word, start }) => ({ word: word.trim(), start })).filter(({ word }) => word !== '');
}

describe.each<[string, DecodedReference]>([
  ['joined', reference.three],
  ['split', reference.ten],
])('the Parakeet family with the drafted layout %s', (layout, expected) => {
  let run: RecognizerRun;

  beforeAll(async () => {
    run = await RecognizerRun.load(loadParakeetFamily, folderOf(layout), await draftOf(layout));
  });
  afterAll(() => run.close());

  it('transcribes a recording to the words of the reference, at its times', async () => {
    const samples = referenceAudio(8);
    const { segments, consumedSamples, heardSpeech, memory } = await run.recognize({ samples, timestamps: 'word' });
    const words = segments.flatMap((segment) => segment.words ?? []);
    const expectedWords = await wordsOf(expected);
    expect(words.map(({ word }) => word)).toEqual(expectedWords.map(({ word }) => word));
    for (const [index, { start, end }] of words.entries()) {
      expect(start).toBeCloseTo(expectedWords[index]?.start ?? NaN, 6);
      expect(end).toBeGreaterThanOrEqual(start);
      expect(end).toBeLessThanOrEqual(words[index + 1]?.start ?? 8);
    }
    expect({ consumedSamples, heardSpeech, memory }).toEqual({
      consumedSamples: 8 * rate,
      heardSpeech: true,
      memory: { language: null, tail: [] },
    });
  });

  it('splits it into segments at the ends of sentences', async () => {
    const { segments } = await run.recognize({ samples: referenceAudio(8), timestamps: 'segment' });
    expect(segments.length).toBeGreaterThan(1);
    for (const [index, { text, words, start, end }] of segments.entries()) {
      if (index < segments.length - 1) expect(text).toMatch(/[.?!]$/);
      expect(text.slice(0, -1)).not.toMatch(/[.?!] /);
      expect(words).toBeNull();
      expect(start).toBeLessThanOrEqual(end);
    }
  });

  it('continues a long recording where the text of a window that was cut ends', async () => {
    const samples = referenceAudio(30);
    const { consumedSamples, segments } = await run.recognize({ samples, isLast: false, timestamps: 'word' });
    const spokenUntil = (segments.at(-1)?.end ?? 0) * rate;
    expect(consumedSamples).toBeGreaterThanOrEqual(spokenUntil);
    expect(consumedSamples).toBeGreaterThan(15 * rate);
    expect(consumedSamples).toBeLessThan(30 * rate);
    const rest = samples.subarray(consumedSamples);
    expect((await run.recognize({ samples: rest, timestamps: 'word' })).segments.length).toBeGreaterThan(0);
  });

  it('stops within one step of a cancel', async () => {
    const before = run.steps();
    await expect(run.recognize({ samples: referenceAudio(20) }, (cancel) => cancel())).rejects.toThrow('cancelled');
    expect(run.steps() - before).toBeLessThanOrEqual(2);
  });

  it('refuses prompts and translations', async () => {
    const samples = referenceAudio(1);
    await expect(run.recognize({ samples, prompt: 'Ada' })).rejects.toThrow(
      'INVALID_REQUEST: This model takes no prompt',
    );
    await expect(run.recognize({ samples, translate: true })).rejects.toThrow('INVALID_REQUEST');
  });
});

describe('the Parakeet family', () => {
  it('knows the languages of its manifest', async () => {
    const manifest = await draftOf('joined');
    const familyOptions = { ...manifest.familyOptions, languages: 'en' };
    const run = await RecognizerRun.load(loadParakeetFamily, folderOf('joined'), { ...manifest, familyOptions });
    expect((await run.recognize({ samples: referenceAudio(1) })).memory.language).toBe('en');
    await expect(run.recognize({ samples: referenceAudio(1), language: 'de' })).rejects.toThrow('language de');
    await run.close();
  });

  it('rejects a model without the name of its joint network', async () => {
    const manifest = { ...(await draftOf('joined')), familyOptions: {} };
    await expect(RecognizerRun.load(loadParakeetFamily, folderOf('joined'), manifest)).rejects.toThrow(/jointFile/);
  });
});
