import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyModel } from '#test/tiny-models';
import { FamilyRun } from '../../../../../test/conformance/families/family-run.js';
import type { TextGenerationRequest } from '../../contract/text-generation.js';
import { loadDecoderFamily } from './decoder.family.js';

/* Reasoning on a tiny model of random weights, whose template opens the block: it never closes one by itself. */

const schema = {
  type: 'object',
  properties: { a: { type: 'integer', minimum: 0, maximum: 99 }, b: { enum: ['x', 'y'] } },
  required: ['a', 'b'],
  additionalProperties: false,
};
const constraint = { type: 'json-schema', schema, param: 'response_format' } as const;
const messages = [{ role: 'user', content: 'the river' }];

let folder: string;
let run: FamilyRun;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-reasoning-'));
  const chatTemplate = "{{ messages[-1]['content'] }}<think>\n";
  const { id, graphFile, family, contextLength = 0 } = await buildTinyModel(folder, { chatTemplate });
  run = await FamilyRun.load(loadDecoderFamily, {
    modelId: id,
    directory: folder,
    graphFile,
    family,
    familyOptions: {},
    providers: ['cpu'],
    intraOpThreads: 1,
    slots: 6,
    contextLength,
    cacheTokens: 6 * contextLength,
  });
});
afterAll(async () => {
  await run.engine.close();
  await rm(folder, { recursive: true, force: true });
});

/** A request with a budget of reasoning. */
function bounded(thinkingBudget: number | undefined, more: Partial<TextGenerationRequest> = {}) {
  return run.ask('', { prompt: { messages, thinkingBudget }, maxTokens: 60, ...more });
}

describe('a decoder that reasons', () => {
  it('closes the block at its budget, and changes no token before', async () => {
    const [free, one, five, fifty] = await Promise.all([bounded(undefined), bounded(1), bounded(5), bounded(50)]);
    expect(free.texts[0]).not.toContain('</think>');
    const reasoning = [one, five, fifty].map(({ texts: [text = ''] }) =>
      text.slice(0, text.indexOf('</think>')).trimEnd(),
    );
    const lengths = reasoning.map((text) => text.length);
    expect(lengths).toEqual([...lengths].sort((a, b) => a - b));
    for (const text of reasoning) expect(free.texts[0]?.startsWith(text)).toBe(true);
    expect(new Set(reasoning).size).toBe(3);
    for (const { usage } of [one, five, fifty]) expect(usage.completionTokens).toBeLessThanOrEqual(60);
  });

  it('reasons in each row as if it were alone, with any seed and budget', async () => {
    const ask = (index: number) =>
      bounded(index * 3, { n: 2, sampling: { temperature: 1.2, seed: index + 1, frequencyPenalty: 0.5 } });
    const alone = [];
    for (const index of [0, 1, 2]) alone.push((await ask(index)).texts);
    const together = await Promise.all([...[0, 1, 2].map(ask), bounded(undefined), bounded(2, { constraint })]);
    expect(together.slice(0, 3).map(({ texts }) => texts)).toEqual(alone);
    for (const text of alone.flat()) expect(text).toContain('</think>');
  });

  it('writes a document behind the block in every choice, whatever is drawn', async () => {
    const answers = await Promise.all(
      [0, 4, 20].map((budget, seed) =>
        bounded(budget, { n: 2, constraint, maxTokens: 150, sampling: { temperature: 1.5, seed: seed + 1 } }),
      ),
    );
    for (const { texts, finishReasons } of answers) {
      expect(finishReasons).toEqual(['stop', 'stop']);
      for (const text of texts) {
        const document = JSON.parse(text.slice(text.indexOf('</think>') + '</think>'.length)) as {
          a: number;
          b: string;
        };
        expect(['x', 'y']).toContain(document.b);
        expect(document.a).toBeLessThan(100);
      }
    }
  });

  it('ends a cancelled request within the block', async () => {
    const { cancelled, usage } = await run.ask('', { prompt: { messages, thinkingBudget: 100 } }, (cancel) => cancel());
    expect(cancelled).toBe(true);
    expect(usage.completionTokens).toBeLessThan(100);
  });

  it('reuses the cache of an earlier prompt with another budget', async () => {
    const long = [{ role: 'user', content: 'the river and the stones '.repeat(8) }];
    const ask = (thinkingBudget: number) => run.ask('', { prompt: { messages: long, thinkingBudget }, maxTokens: 30 });
    await ask(3);
    const { usage, texts } = await ask(6);
    expect(usage.cachedTokens).toBeGreaterThan(0);
    expect(texts[0]).toContain('</think>');
  });

  it('answers at once when reasoning is switched off', async () => {
    const { texts } = await run.ask('', { prompt: { messages, enableThinking: false }, constraint, maxTokens: 100 });
    expect(JSON.parse(texts[0] ?? '')).toMatchObject({ a: expect.any(Number) });
  });
});
