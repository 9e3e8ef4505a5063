import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineRun, type GeneratedText } from './engine-run.js';
import { installedWeights } from './starter-weights.js';

const openings = [
  'Once upon a time there was a little fox',
  'The sun was shining and Tom',
  'Lily and her mother went to the park. They saw',
  'In the deep blue sea lived a fish who',
  'Ben wanted a red ball, but',
  'It was raining',
  'One day a big bear came to the village and said to the people that',
  'The old clock',
];

/** Slow models get fewer tokens. */
const models = [
  { id: 'stories-15m', maxTokens: 60 },
  { id: 'minimind2-small', maxTokens: 40 },
  { id: 'smollm2-135m-instruct', maxTokens: 24 },
  { id: 'qwen2.5-coder-0.5b-instruct', maxTokens: 12 },
];

describe.each(models)('the engine with $id', ({ id, maxTokens }) => {
  let engine: EngineRun;

  beforeAll(async () => {
    engine = await EngineRun.load(await installedWeights(id));
  });
  afterAll(() => engine.close());

  it('generates the same greedy text in a batch as alone, except for near ties where rows are not the same', async () => {
    const lengths = openings.map((_, index) => Math.max(4, maxTokens - 3 * index));
    const generate = (opening: string, index: number) =>
      // Seeded, so that rounding does not depend on what the first runs left in the cache.
      engine.generate(opening, { sampling: { temperature: 0, seed: 1 }, maxTokens: lengths[index], topLogprobs: 0 });
    const alone = [];
    for (const [index, opening] of openings.entries()) alone.push(await generate(opening, index));
    const together = await Promise.all(openings.map(generate));
    for (const [index, text] of together.entries()) expectSame(text, alone[index], 1);
  });

  it('generates the same text for a seed, whatever else is in the batch', async () => {
    const options = { sampling: { temperature: 0.9, topP: 0.95, seed: 4711 }, maxTokens, topLogprobs: 0 };
    const alone = await engine.generate(openings[0] ?? '', options);
    const [together] = await Promise.all([
      engine.generate(openings[0] ?? '', options),
      ...openings.slice(1, 5).map((opening, seed) => engine.generate(opening, { sampling: { seed }, maxTokens })),
    ]);
    expectSame(together, alone, 0);
  });

  /**
   * Expects the same text where rows are the same in any batch (docs/decisions/rows-on-every-processor.md); elsewhere,
   * similar log-probabilities up to the first token that differs, and of so many tokens from it on: activations are
   * rounded to 8 bits there, so that a last bit can become a step.
   */
  function expectSame(text: GeneratedText | undefined, alone: GeneratedText | undefined, tied: number): void {
    if (engine.isBatchInvariant) expect(text?.text).toBe(alone?.text);
    else expectClose(text, alone, tied);
  }

  function expectClose(text: GeneratedText | undefined, alone: GeneratedText | undefined, tied: number): void {
    const { tokens = [], logprobs = [] } = text ?? {};
    const first = tokens.findIndex((token, index) => token !== alone?.tokens[index]);
    const shared = first === -1 ? tokens.length : first + tied;
    expect(tokens.length).toBeGreaterThan(0);
    for (const [index, logprob] of logprobs.slice(0, shared).entries()) {
      expect(Math.abs(logprob - (alone?.logprobs[index] ?? Infinity))).toBeLessThan(0.25);
    }
  }

  it('gives bit-identical scores for a seed, whatever part of its prompt is cached', async () => {
    const asked = { sampling: { temperature: 0.7, seed: 11 }, maxTokens: 4, topLogprobs: 0 };
    const prompt = `${openings[0]}. ${openings.join('; ')}. What happened then?`;
    const first = await engine.generate(prompt, asked);
    for (const turn of [prompt, `${prompt} And where?`]) await engine.generate(turn, { maxTokens: 4 });
    const again = await engine.generate(prompt, asked);
    expect(again.logprobs).toEqual(first.logprobs);
  });

  it('finds an earlier prompt in its cache', async () => {
    const prompt = `${openings.join('. ')}. And then`;
    const asked = { maxTokens: 4, topLogprobs: 0 };
    const first = await engine.generate(prompt, asked);
    const second = await engine.generate(prompt, asked);
    // Without a seed, the rest of the prompt is computed in fewer rows, whose products may differ in the last bits.
    expectClose(second, first, 1);
    expect(second.promptTokens).toBe(first.promptTokens);
    expect(second.cachedTokens).toBeGreaterThan(first.promptTokens / 2);
  });

  it('scores greedy tokens as the most likely', async () => {
    const { logprobs, completionTokens } = await engine.generate(openings[1] ?? '', { maxTokens: 8, topLogprobs: 0 });
    expect(logprobs).toHaveLength(completionTokens);
    for (const logprob of logprobs) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(logprob).toBeGreaterThan(-6);
    }
  });
});

describe('the story model', () => {
  it('tells a story', async () => {
    const engine = await EngineRun.load(await installedWeights('stories-15m'));
    const { text, completionTokens } = await engine.generate('Once upon a time', { maxTokens: 50 });
    await engine.close();
    expect(completionTokens).toBe(50);
    expect(text).toMatch(/\b(named|little|girl|boy|park|play|mom|day)\b/);
  });
});
