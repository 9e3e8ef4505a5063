import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { InstalledModel } from '#model-store';
import { jfkRecording } from '#test/jfk-recording';
import { wavSamples } from '#test/wav-file';
import { installedWeights, weightsHome } from '../../../../../test/models/starter-weights.js';
import { loadVoiceActivity } from '../../recognition/load-recognition-engine.js';
import { splitTokenWords } from './word-splitter.js';
import { WhisperTokens } from './whisper.tokens.js';

interface Reference {
  splits: { language: string; tokens: number[]; words: [words: string[], tokens: number[][]] }[];
  voice: number[];
}

const path = join(import.meta.dirname, '../../../../../test/models/__fixtures__/jfk.json');
/** Output of the reference implementation, made by `tools/reference/whisper_speech.py`. */
const reference = JSON.parse(readFileSync(path, 'utf8')) as Reference;

let model: InstalledModel;
let tokens: WhisperTokens;

beforeAll(async () => {
  model = await installedWeights('whisper-tiny');
  tokens = await WhisperTokens.load(model.folder);
});

describe('the Whisper tokens', () => {
  it.each(reference.splits)(
    'split into the words of the reference in "$language"',
    ({ language, tokens: ids, words }) => {
      const split = splitTokenWords(ids, (list) => tokens.decode(list), language);
      expect(split.map(({ word }) => word)).toEqual(words[0]);
      expect(split.map((each) => each.tokens)).toEqual(words[1]);
    },
  );

  it('include 99 languages, the task and the token before a prompt', () => {
    expect(tokens.languages.size).toBe(99);
    expect(tokens.startSequence('de')).toEqual([50_258, 50_261, 50_359]);
    expect(tokens.startSequence('de', { translate: true })).toEqual([50_258, 50_261, 50_358]);
    expect(tokens.promptTokens('  Sluice ', 100)[0]).toBe(50_361);
    expect(tokens.promptTokens(' ', 100)).toEqual([]);
    expect([tokens.noSpeech, tokens.noTimestamps, tokens.timestampBegin]).toEqual([50_362, 50_363, 50_364]);
  });
});

describe('the voice activity graph', () => {
  it("returns the reference's probability for each frame", async () => {
    const { folder, manifest } = model;
    const voice = await loadVoiceActivity({
      modelId: manifest.id,
      directory: folder,
      graphFile: manifest.graphFile,
      family: manifest.family,
      familyOptions: manifest.familyOptions ?? {},
      providers: ['cpu'],
      intraOpThreads: 1,
      slots: 1,
      contextLength: 0,
      cacheTokens: 0,
    });
    const made = await voice?.probabilities(wavSamples(await jfkRecording(weightsHome)));
    await voice?.release();
    expect(made).toHaveLength(reference.voice.length);
    for (const [frame, value] of reference.voice.entries()) expect(made?.[frame]).toBeCloseTo(value, 2);
  });
});
