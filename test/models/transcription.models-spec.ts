import { readFileSync } from 'node:fs';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadFamilyEngine } from '#inference';
import type { RecognitionOutput } from '#inference/tasks';
import type { InstalledModel } from '#model-store';
import { jfkRecording, jfkWords } from '#test/jfk-recording';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { wavFile, wavSamples } from '#test/wav-file';
import { RecognizerRun } from '../conformance/families/recognizer-run.js';
import { installedWeights, weightsHome } from './starter-weights.js';

interface Reference {
  language: string;
  text: string;
  segments: { start: number; end: number; tokens: number[]; no_speech_prob: number; avg_logprob: number }[];
  worded: { start: number; end: number; words: { word: string; start: number; end: number }[] }[];
}

/** Output of the reference implementation for the same recording and weights; `tools/reference/whisper_speech.py`. */
const reference = JSON.parse(readFileSync(new URL('./__fixtures__/jfk.json', import.meta.url), 'utf8')) as Reference;

/** Quantized kernels differ between runtime versions, which shifts the attention by a few positions. */
const toleranceSeconds = 0.1;

function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z ]/g, '')
    .trim();
}

/** As a recording of 16 bits at a lower level contains it. */
function quieter(samples: Float32Array, decibels: number): Float32Array {
  return samples.map((sample) => Math.round(32_767 * sample * 10 ** (decibels / 20)) / 32_768);
}

let speech: Float32Array;
let file: Buffer;
let models: Record<'whisper-tiny' | 'moonshine-tiny', InstalledModel>;

beforeAll(async () => {
  file = await jfkRecording(weightsHome);
  speech = wavSamples(file);
  models = {
    'whisper-tiny': await installedWeights('whisper-tiny'),
    'moonshine-tiny': await installedWeights('moonshine-tiny'),
  };
});

describe('whisper compared with its reference', () => {
  let run: RecognizerRun;
  let made: RecognitionOutput;

  beforeAll(async () => {
    const { folder, manifest } = models['whisper-tiny'];
    const { decoderFile = '' } = manifest.familyOptions ?? {};
    // The reference also gets the silence.
    run = await RecognizerRun.load(loadFamilyEngine, folder, { ...manifest, familyOptions: { decoderFile } });
    made = await run.recognize({ samples: speech, timestamps: 'word' });
  });
  afterAll(() => run.close());

  it('detects the language, and writes the same tokens with the same probabilities', async () => {
    const { segments, memory } = await run.recognize({ samples: speech, timestamps: 'segment' });
    expect(memory.language).toBe(reference.language);
    expect(segments.map(({ text }) => text).join('')).toBe(reference.text);
    expect(segments.map(({ tokens }) => tokens)).toEqual(reference.segments.map(({ tokens }) => tokens));
    for (const [index, { start, end, avgLogprob, noSpeechProb }] of segments.entries()) {
      const expected = reference.segments[index];
      expect(start).toBeCloseTo(expected?.start ?? -1, 2);
      expect(end).toBeCloseTo(expected?.end ?? -1, 2);
      expect(avgLogprob).toBeCloseTo(expected?.avg_logprob ?? 0, 1);
      expect(noSpeechProb).toBeCloseTo(expected?.no_speech_prob ?? -1, 1);
    }
  });

  it('gives word timestamps', () => {
    const words = made.segments.flatMap((segment) => segment.words ?? []);
    const expected = reference.worded.flatMap((segment) => segment.words);
    expect(words.map(({ word }) => word)).toEqual(expected.map(({ word }) => word.trim()));
    for (const [index, { start, end }] of words.entries()) {
      expect(Math.abs(start - (expected[index]?.start ?? -1))).toBeLessThanOrEqual(toleranceSeconds);
      expect(Math.abs(end - (expected[index]?.end ?? -1))).toBeLessThanOrEqual(toleranceSeconds);
    }
  });
});

describe.each(['whisper-tiny', 'moonshine-tiny'] as const)('%s', (id) => {
  let run: RecognizerRun;

  beforeAll(async () => {
    const { folder, manifest } = models[id];
    run = await RecognizerRun.load(loadFamilyEngine, folder, manifest);
  });
  afterAll(() => run.close());

  it('transcribes the recording word for word', async () => {
    const { segments } = await run.recognize({ samples: speech, language: 'en' });
    expect(plainWords(segments.map(({ text }) => text).join(''))).toBe(jfkWords);
  });

  it.each([-20, -30, -35, -40, -45, -50, -60])('loses no word of a recording at %i dB', async (decibels) => {
    const { segments } = await run.recognize({ samples: quieter(speech, decibels), language: 'en' });
    const heard = plainWords(segments.map(({ text }) => text).join('')).split(' ');
    // At -60 dB, 16 bits leave so little that Whisper Tiny hears "and" for "ask" and "you are" for "your".
    expect(wordErrors(jfkWords.split(' '), heard)).toBeLessThanOrEqual(decibels < -50 ? 5 : 3);
    expect(heard.length).toBeGreaterThanOrEqual(22);
  });

  it.each([0, -30, -50, -70, -90])('writes nothing for noise and silence at %i dB', async (decibels) => {
    const length = 80_000;
    const recordings = [
      new Float32Array(length),
      Float32Array.from({ length }, (_, index) => 0.5 * Math.sin(index * index)),
      Float32Array.from({ length }, (_, index) => 0.5 * Math.sin((2 * Math.PI * 440 * index) / 16_000)),
      Float32Array.from({ length }, (_, index) => (index % 8_000 < 20 ? 0.5 * Math.sin(index) : 0)),
    ];
    for (const samples of recordings) {
      const { heardSpeech, segments } = await run.recognize({ samples: quieter(samples, decibels) });
      expect([heardSpeech, segments]).toEqual([false, []]);
    }
  });

  it('finds the words at their times in a minute that begins with silence and has no pauses', async () => {
    // Three times the address without pauses, after twelve seconds of silence.
    const recording = new Float32Array([...new Float32Array(12 * 16_000), ...speech, ...speech, ...speech]);
    const text: string[] = [];
    let first = -1;
    let memory: RecognitionOutput['memory'] | null = null;
    for (let at = 0; at < recording.length;) {
      const samples = recording.slice(at, at + 30 * 16_000);
      const isLast = at + samples.length >= recording.length;
      const made: RecognitionOutput = await run.recognize({ samples, isLast, memory, language: 'en' });
      for (const segment of made.segments) {
        if (first < 0) first = at / 16_000 + segment.start;
        text.push(segment.text);
      }
      ({ memory } = made);
      at += made.consumedSamples;
    }
    expect(first).toBeGreaterThan(11.5);
    expect(first).toBeLessThan(12.8);
    const heard = plainWords(text.join('')).split(/\s+/);
    const said = Array.from({ length: 3 }, () => jfkWords.split(' ')).flat();
    expect(wordErrors(said, heard) / said.length).toBeLessThanOrEqual(0.1);
  });
});

/** Word edit distance. */
function wordErrors(said: string[], heard: string[]): number {
  let row = heard.map((_, index) => index + 1);
  row.unshift(0);
  for (const [at, word] of said.entries()) {
    const next = [at + 1];
    for (const [index, other] of heard.entries()) {
      const change = (row[index] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(change, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

describe('the official client with real weights', () => {
  let platform: Platform;
  let client: OpenAI;

  beforeAll(async () => {
    const manifests = Object.values(models).map(({ manifest }) => manifest);
    platform = await startPlatform({ engine: 'text', home: weightsHome, manifests });
    client = new OpenAI({ baseURL: platform.baseUrl, apiKey: platform.inferenceKey, maxRetries: 0 });
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  it('gets the address word for word, with word timestamps', async () => {
    const answer = await client.audio.transcriptions.create({
      file: await toFile(file, 'jfk.wav'),
      model: 'whisper-1',
      response_format: 'verbose_json',
      timestamp_granularities: ['word'],
    });
    expect(plainWords(answer.text)).toBe(jfkWords);
    expect([answer.language, answer.duration]).toEqual(['english', 11]);
    expect(answer.words?.map(({ word }) => plainWords(word)).join(' ')).toBe(jfkWords);
  });

  it('gets it twice from a recording with a long pause, also from the faster model', async () => {
    const pause = new Float32Array(25 * 16_000);
    const twice = wavFile(new Float32Array([...speech, ...pause, ...speech]));
    for (const model of ['whisper-tiny', 'fastest']) {
      const answer = await client.audio.transcriptions.create({
        file: await toFile(twice, 'twice.wav'),
        model,
        response_format: 'verbose_json',
      });
      // A window that begins two hundredths of a second later is enough for a small model to hear "you are" for "your".
      const said = `${jfkWords} ${jfkWords}`.split(' ');
      expect(wordErrors(said, plainWords(answer.text).split(' ')) / said.length).toBeLessThanOrEqual(0.1);
      expect(answer.segments?.at(-1)?.end).toBeGreaterThan(46);
    }
  });
});
