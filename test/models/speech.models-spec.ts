import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFull } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { normalizeText } from '#inference';
import { installedWeights, weightsHome } from './starter-weights.js';

/*
 * Round trip through the platform's own routes: Whisper transcribes what Kokoro and TinyTTS speak. The first twenty
 * sentences are the first list of the Harvard sentences (IEEE, public), which are hard to guess.
 */
const sentences = [
  'The birch canoe slid on the smooth planks.',
  'Glue the sheet to the dark blue background.',
  'It is easy to tell the depth of a well.',
  'These days a chicken leg is a rare dish.',
  'Rice is often served in round bowls.',
  'The juice of lemons makes fine punch.',
  'The box was thrown beside the parked truck.',
  'The hogs were fed chopped corn and garbage.',
  'Four hours of steady work faced us.',
  'A large size in stockings is hard to sell.',
  'The boy was there when the sun rose.',
  'A rod is used to catch pink salmon.',
  'The source of the huge river is the clear spring.',
  'Kick the ball straight and follow through.',
  'Help the woman get back to her feet.',
  'A pot of tea helps to pass the evening.',
  'Smoky fires lack flame and heat.',
  "The soft cushion broke the man's fall.",
  'The salt breeze came across from the sea.',
  'The girl at the booth sold fifty bonds.',
  'On January 5th, 2024, the company paid Dr. Smith $1,250 for three kilograms of coffee.',
  'She would like to know whether the museum opens at 9:30 in the morning on Sunday.',
  'Please remember to bring an umbrella, because the weather forecast says it will rain.',
  'Engineers built a bridge over the valley; it took them seven years and 200 workers.',
];

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  const ids = ['kokoro-82m', 'piper-en-us-joe', 'tiny-tts', 'whisper-tiny'];
  const manifests = [];
  for (const id of ids) manifests.push((await installedWeights(id)).manifest);
  platform = await startPlatform({ engine: 'text', home: weightsHome, manifests });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, timeout: 600_000 });
});
afterAll(async () => {
  await platform.closedJobs();
  await expectInvariant(platform);
  await platform.stop();
});

/** Words as spoken, so that `$5` and `five dollars` are equal. */
function wordsOf(text: string): string[] {
  return normalizeText(text)
    .toLowerCase()
    .replaceAll(/[^a-z' ]/g, ' ')
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** Word edit distance: substitutions, deletions and insertions. */
function editDistance(left: readonly string[], right: readonly string[]): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [row, word] of left.entries()) {
    const current = [row + 1];
    for (const [column, other] of right.entries()) {
      const replaced = (previous[column] ?? 0) + (word === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}

async function heard(text: string, voice: { model: string; voice: string }): Promise<string> {
  const audio = await client.audio.speech.create({ ...voice, input: text, response_format: 'wav' });
  const file = await toFile(Buffer.from(await audio.arrayBuffer()), 'speech.wav');
  const { text: written } = await client.audio.transcriptions.create({ file, model: 'whisper-tiny', language: 'en' });
  return written;
}

/** Word error rate over all sentences. */
async function wordErrorRate(texts: readonly string[], voice: { model: string; voice: string }): Promise<number> {
  let [errors, words] = [0, 0];
  for (const text of texts) {
    const [said, written] = [wordsOf(text), wordsOf(await heard(text, voice))];
    errors += editDistance(said, written);
    words += said.length;
  }
  process.stdout.write(`${voice.model} ${voice.voice}: ${errors} of ${words} words misheard\n`);
  return errors / words;
}

describe('speech and back', () => {
  it.each([
    ['kokoro-82m', 'af_sky', sentences.filter((_, index) => index % (isFull ? 2 : 4) === 0), 0.15],
    ['kokoro-82m', 'bf_emma', sentences.slice(0, 6), 0.2],
    ['piper-en-us-joe', 'joe', sentences.slice(0, 12), 0.2],
    ['tiny-tts', 'male', sentences.filter((_, index) => isFull || index % 2 === 1), 0.25],
  ])(
    'is understood when %s speaks as %s',
    async (model, voice, texts, bound) => {
      expect(await wordErrorRate(texts, { model, voice })).toBeLessThanOrEqual(bound);
    },
    1_800_000,
  );

  it('speaks a whole paragraph with few recognition errors', async () => {
    const text = sentences.slice(20).join(' ');
    const rate = await wordErrorRate([text], { model: 'kokoro-82m', voice: 'af_heart' });
    expect(rate).toBeLessThanOrEqual(0.15);
  }, 600_000);
});
