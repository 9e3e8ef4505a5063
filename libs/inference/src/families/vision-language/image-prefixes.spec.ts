import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertModel } from '#model-store';
import { tinyVisionFolder } from '#test/tiny-vision-models';
import { FamilyRun } from '../../../../../test/conformance/families/family-run.js';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import type { ChatTemplateMessage, PromptImage } from '../../contract/text-generation.js';
import { drawImage } from './__fixtures__/known-cases.js';
import { loadVisionLanguageFamily } from './vision-language.family.js';

/*
 * Prompts that go on from another one: with its images, or with others in their place. Layers with a state can go on only
 * where a state was kept, and a state holds every image before it.
 */

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'image-prefixes-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const before = 'A small boat on the river, and a red barn behind the trees. '.repeat(6);
const between = 'Compare it with this one: ';
const question: ChatTemplateMessage = {
  role: 'user',
  content: `${before}${between}What is different?`,
  imagePositions: [before.length, before.length + between.length],
};
const nextTurn: ChatTemplateMessage[] = [
  question,
  { role: 'assistant', content: 'The second one has a red barn.' },
  { role: 'user', content: 'And the trees?' },
];

/** An image of 54 tokens. */
function imageOf(seed: number): PromptImage {
  return { pixels: drawImage([300, 190], seed), hash: `${seed}`.repeat(64), param: 'messages' };
}
const tokensOfImage = 54;
const [boat, barn, tree] = [imageOf(1), imageOf(2), imageOf(3)] as const;

describe.each(['qwen3-vl', 'qwen3.5', 'qwen3.5-moe'])('prompts with images after each other: %s', (name) => {
  let options: HostLoadOptions;
  const runs: FamilyRun[] = [];

  beforeAll(async () => {
    const outputFolder = await mkdtemp(join(folder, `${name}-`));
    const converter = { kind: 'safetensors', options: { images: true } } as const;
    await convertModel({ ...converter, inputFolder: tinyVisionFolder(name), outputFolder });
    options = {
      modelId: name,
      directory: outputFolder,
      graphFile: 'model.onnx',
      family: 'vision-language',
      familyOptions: { visionEncoder: 'vision_encoder.onnx' },
      providers: ['cpu'],
      intraOpThreads: 1,
      slots: 2,
      contextLength: 512,
      cacheTokens: 2_048,
    };
  });
  afterAll(async () => {
    for (const run of runs) await run.engine.close();
  });

  async function load(): Promise<FamilyRun> {
    const run = await FamilyRun.load(loadVisionLanguageFamily, options);
    runs.push(run);
    return run;
  }

  async function ask(run: FamilyRun, messages: ChatTemplateMessage[], images: PromptImage[]) {
    const { usage, logprobs } = await run.ask('', { prompt: { messages, images }, maxTokens: 1, topLogprobs: 5 });
    const best = logprobs[0]?.topLogprobs.map(({ logprob }) => logprob) ?? [];
    return { best, cached: usage.cachedTokens, tokens: usage.promptTokens };
  }

  it.each([
    { what: 'the same images', images: [boat, barn], changed: 0 },
    { what: 'another second image', images: [boat, tree], changed: 1 },
    { what: 'another first image', images: [tree, barn], changed: 2 },
  ])('with $what, reuses what comes before a change, and no more', async ({ images, changed }) => {
    const run = await load();
    const first = await ask(run, [question], [boat, barn]);
    const next = await ask(run, nextTurn, images);
    const alone = await ask(await load(), nextTurn, images);
    expect(first.cached + alone.cached).toBe(0);
    expect(next.cached).toBeGreaterThanOrEqual(64);
    const limit = first.tokens - changed * tokensOfImage;
    expect(next.cached).toBeLessThanOrEqual(limit);
    expect(next.best).toHaveLength(5);
    next.best.forEach((logprob, rank) => expect(logprob).toBeCloseTo(alone.best[rank] ?? NaN, 4));
  });

  it('tells images apart', async () => {
    const run = await load();
    const [first, second] = [await ask(run, nextTurn, [boat, barn]), await ask(run, nextTurn, [boat, tree])];
    expect(Math.abs((first.best[0] ?? NaN) - (second.best[0] ?? NaN))).toBeGreaterThan(1e-3);
  });
});
