import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineLoader } from '#inference/host';
import type { ModelManifest } from '#model-registry/manifest';
import { FamilyRun } from './family-run.js';

export interface FamilyCase {
  /** `llama, split, float32`. */
  name: string;
  load: EngineLoader;
  /** Writes a complete model into the folder. */
  build: (folder: string) => Promise<ModelManifest>;
  /** Greedy continuation of `goldenPrompt` over 24 tokens; null if the number format decides near ties. */
  golden: string | null;
}

export const goldenPrompt = 'Once upon a time there was a river';
const goldenTokens = 24;

const prompts = ['Hello', 'The river was happy', 'Tell me about 水 and 🌊', 'a b c d e f g', goldenPrompt];

/** The conformance suite of every family, whatever its graph. */
export function describeFamily({ name, load, build, golden }: FamilyCase): void {
  describe(`a model of the family ${name}`, () => {
    let folder: string;
    let manifest: ModelManifest;
    let run: FamilyRun;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sluice-family-'));
      manifest = await build(folder);
      run = await FamilyRun.load(load, {
        modelId: manifest.id,
        directory: folder,
        graphFile: manifest.graphFile,
        family: manifest.family,
        familyOptions: manifest.familyOptions ?? {},
        providers: ['cpu'],
        intraOpThreads: 1,
        slots: 4,
        contextLength: manifest.contextLength ?? 0,
        cacheTokens: 4 * (manifest.contextLength ?? 0),
      });
    });

    afterAll(async () => {
      await run.engine.close();
      await rm(folder, { recursive: true, force: true });
    });

    if (golden !== null)
      it('continues the golden prompt as recorded', async () => {
        const { texts } = await run.ask(goldenPrompt, { maxTokens: goldenTokens });
        expect(texts).toEqual([golden]);
      });

    it('generates the same text in a full batch as alone', async () => {
      const alone: string[] = [];
      for (const prompt of prompts) alone.push((await run.ask(prompt, { maxTokens: 20 })).texts.join());
      const together = await Promise.all(prompts.map((prompt) => run.ask(prompt, { maxTokens: 20 })));
      expect(together.map(({ texts }) => texts.join())).toEqual(alone);
    });

    it('generates the same text for the same seed, whatever else is in the batch', async () => {
      const overrides = { maxTokens: 16, sampling: { temperature: 1, topP: 0.9, seed: 11 } };
      const alone = await run.ask('Hello', overrides);
      const [again] = await Promise.all([
        run.ask('Hello', overrides),
        ...prompts.map((prompt) => run.ask(prompt, { maxTokens: 16, sampling: { temperature: 1, seed: 5 } })),
      ]);
      expect(again?.texts).toEqual(alone.texts);
      const other = await run.ask('Hello', { ...overrides, sampling: { ...overrides.sampling, seed: 12 } });
      expect(other.texts).not.toEqual(alone.texts);
    });

    it('generates n choices from one prompt, each with the seed of its index', async () => {
      const sampling = { temperature: 1, seed: 20 };
      const { texts, usage } = await run.ask('Hello', { n: 3, maxTokens: 8, sampling });
      const second = await run.ask('Hello', { maxTokens: 8, sampling: { temperature: 1, seed: 21 } });
      expect(texts).toHaveLength(3);
      expect(texts[1]).toBe(second.texts[0]);
      expect(usage.completionTokens).toBeGreaterThan(3);
      expect(usage.completionTokens).toBeLessThanOrEqual(24);
    });

    it('ends at the end of the context with finish reason length', async () => {
      const neverStop = { sampling: { temperature: 0 }, maxTokens: 100_000 };
      const { finishReasons, usage } = await run.ask('Hello', neverStop);
      if (finishReasons[0] === 'stop')
        expect(usage.promptTokens + usage.completionTokens).toBeLessThan(manifest.contextLength ?? 0);
      else expect(usage.promptTokens + usage.completionTokens).toBe(manifest.contextLength);
    });

    it('stops before a stop string', async () => {
      const { texts } = await run.ask(goldenPrompt, { maxTokens: goldenTokens });
      const whole = texts.join();
      const stop = whole.slice(8, 11);
      const stopped = await run.ask(goldenPrompt, { maxTokens: goldenTokens, stop: [stop] });
      expect(stopped.texts.join()).toBe(whole.slice(0, whole.indexOf(stop)));
      expect(stopped.finishReasons).toEqual(['stop']);
    });

    it('stops within two tokens of a cancel', async () => {
      const generated = () => run.engine.stats().generatedTokensTotal;
      let atCancel = 0;
      // At the first text: later text may arrive with it, immediately on a tiny model.
      const { cancelled } = await run.ask('Hello', { maxTokens: 150 }, (cancel) => {
        if (atCancel > 0) return;
        atCancel = generated();
        cancel();
      });
      expect(cancelled).toBe(true);
      expect(generated() - atCancel).toBeLessThanOrEqual(2);
    });

    it('rejects a prompt longer than the context', async () => {
      await expect(run.ask('river '.repeat(manifest.contextLength ?? 0))).rejects.toThrow(/^TOO_MANY_TOKENS/);
    });
  });
}
