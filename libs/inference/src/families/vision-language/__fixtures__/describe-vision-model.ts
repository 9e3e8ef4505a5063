import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostLoadOptions } from '../../../contract/engine-loader.js';
import type { TextGenerationRequest } from '../../../contract/text-generation.js';
import { loadTextSide } from '../../decoder/decoder.family.js';
import {
  contentOf,
  floatsFrom,
  type KnownCase,
  promptImages,
} from './known-cases.js';
import { loadVisionLanguageFamily } from '../vision-language.family.js';
import { FamilyRun } from '../../../../../../test/conformance/families/family-run.js';

type VisionCase = Omit<KnownCase, 'pixels'>;

export interface VisionModelUnderTest {
  name: string;
  cases: readonly VisionCase[];
  /** Where an image stands in the template. */
  placeholder: string;
  /** Token of the positions of an image; default: the placeholder. */
  imageToken?: string;
  /** Limits of tokens, and what an image of 80 by 64 pixels then takes; null: the model has one size. */
  scales: { imageTokens: number; frameTokens: number; image: number; frame: number } | null;
  /** How far log-probabilities may be from the reference; default: 1e-4. */
  furthest?: number;
  /** Where the model is; called before the first test. */
  options(): HostLoadOptions | Promise<HostLoadOptions>;
}

/** Tests that every model that reads images must pass, beside the answers of the reference. */
export function describeVisionModel(model: VisionModelUnderTest): void {
  const { name, cases, placeholder, imageToken = placeholder, scales, furthest = 1e-4, options } = model;
  describe(`a model of the family vision-language: ${name}`, () => {
    let run: FamilyRun;
    let loaded: HostLoadOptions;

    beforeAll(async () => void (loaded = await options()));

    // The reference writes a character that the token limit cuts as U+FFFD; here it is left out.
    beforeAll(async () => {
      const { tokenizer, generation } = await loadTextSide(loaded.directory);
      for (const known of cases) {
        if (generation.eosTokenIds.has(known.outputIds.at(-1) ?? -1)) continue;
        const bytes = Buffer.concat(known.outputIds.map((id) => tokenizer.tokenBytes?.[id] ?? new Uint8Array(0)));
        const whole = new TextDecoder().decode(bytes, { stream: true });
        if (new TextDecoder().decode(bytes) === `${whole}\uFFFD`) known.text = known.text.slice(0, -1);
      }
    });

    beforeAll(async () => {
      run = await FamilyRun.load(loadVisionLanguageFamily, loaded);
    });
    afterAll(async () => {
      await run.engine.close();
    });

    const ask = (known: VisionCase, more: Partial<TextGenerationRequest> = {}) => {
      const prompt = { messages: [contentOf(known)], images: promptImages(known) };
      return run.ask('', { prompt, maxTokens: known.outputIds.length, ...more });
    };
    const withImages = cases.filter(({ images }) => images.length > 0);

    it('generates what transformers generates, with and without images', async () => {
      for (const known of cases) {
        const { texts, usage } = await ask(known);
        expect({ text: texts[0], promptTokens: usage.promptTokens }).toEqual({
          text: known.text,
          promptTokens: known.promptIds.length,
        });
      }
    });

    it(`has the logits of transformers after the prompt, to ${furthest}`, async () => {
      for (const known of cases) {
        const logits = [...floatsFrom(known.logits)];
        const sum = Math.log(logits.reduce((total, logit) => total + Math.exp(logit), 0));
        const expected = logits.map((logit) => logit - sum).toSorted((left, right) => right - left);
        const { logprobs } = await ask(known, { maxTokens: 1, topLogprobs: 20 });
        const best = logprobs[0]?.topLogprobs.map(({ logprob }) => logprob) ?? [];
        expect(best).toHaveLength(20);
        best.forEach((logprob, rank) => expect(Math.abs(logprob - (expected[rank] ?? NaN))).toBeLessThan(furthest));
      }
    });

    it('generates the same text for rows with images and rows of text together as alone', async () => {
      const together = await Promise.all([...cases, ...cases].map((known) => ask(known)));
      expect(together.map(({ texts }) => texts[0])).toEqual([...cases, ...cases].map(({ text }) => text));
    });

    it('reuses the prefix of the same image and not of another in its place', async () => {
      const [known] = withImages.toSorted((left, right) => right.promptIds.length - left.promptIds.length);
      if (known === undefined) throw new Error('there is no case with an image');
      const cached = async (hash: string, pixels = promptImages(known)) => {
        const images = pixels.map((image, index) => ({ ...image, hash: hash.repeat(32) + String(index) }));
        const { usage, texts } = await ask(known, { prompt: { messages: [contentOf(known)], images } });
        return { cached: usage.cachedTokens, text: texts[0] };
      };
      const { tokenizer } = await loadTextSide(loaded.directory);
      const first = await cached('a1');
      const again = await cached('a1');
      const inverted = promptImages(known).map((image) => {
        const data = image.pixels.data.map((sample) => 255 - sample);
        return { ...image, pixels: { ...image.pixels, data } };
      });
      const other = await cached('b2', inverted);
      const textBefore = known.promptIds.indexOf(tokenizer.idOf(imageToken) ?? -1);
      expect(first.text).toBe(known.text);
      expect(first.cached).toBeLessThanOrEqual(textBefore);
      expect(again.text).toBe(known.text);
      expect(again.cached).toBeGreaterThanOrEqual(64);
      // The text in front of the image is the same.
      expect(other.cached).toBeLessThanOrEqual(textBefore);
      expect(other.text).not.toBe(known.text);
    });

    it('takes the text of a placeholder in a message as text', async () => {
      const [known] = withImages;
      if (known === undefined) throw new Error('there is no case with an image');
      const content = contentOf(known);
      const message = { ...content, content: content.content + placeholder };
      const { usage } = await ask(known, { prompt: { messages: [message], images: promptImages(known) } });
      const { tokenizer } = await loadTextSide(loaded.directory);
      const [without, spelled] = [content, message].map((text) => tokenizer.encodePlain(text.content).length);
      expect(spelled).toBeGreaterThan((without ?? 0) + 1);
      expect(usage.promptTokens).toBe(known.promptIds.length + (spelled ?? 0) - (without ?? 0));
    });

    it('gives every choice the image', async () => {
      const [known] = withImages;
      if (known === undefined) throw new Error('there is no case with an image');
      expect((await ask(known, { n: 2 })).texts).toEqual([known.text, known.text]);
    });

    it('ends a request that is cancelled while its images are read, and closes', async () => {
      const [known] = withImages;
      if (known === undefined) throw new Error('there is no case with an image');
      const images = promptImages(known).map((image) => ({ ...image, hash: 'c3'.repeat(32) }));
      const asked = ask(known, { prompt: { messages: [contentOf(known)], images } });
      run.cancelLast();
      const { cancelled, usage } = await asked;
      expect({ cancelled, tokens: usage.promptTokens + usage.completionTokens }).toEqual({
        cancelled: true,
        tokens: 0,
      });
      expect((await ask(known)).texts).toEqual([known.text]);
    });

    it('refuses images that do not fit the messages or the context', async () => {
      const [known] = withImages;
      if (known === undefined) throw new Error('there is no case with an image');
      const images = promptImages(known);
      const message = { role: 'user', content: 'Hello' };
      await expect(ask(known, { prompt: { messages: [message], images } })).rejects.toThrow(/another number of images/);
      const many = Array.from({ length: 200 }, () => images[0]).filter((image) => image !== undefined);
      const crowded = { ...message, imagePositions: many.map(() => 0) };
      await expect(ask(known, { prompt: { messages: [crowded], images: many } })).rejects.toThrow(/^TOO_MANY_TOKENS/);
    });

    it.runIf(scales !== null)('scales images and frames down to the tokens that they are quoted for', async () => {
      const [known] = withImages;
      if (known === undefined) throw new Error('there is no case with an image');
      const { image, frame, ...limits } = scales ?? { image: 0, frame: 0 };
      const small = await FamilyRun.load(loadVisionLanguageFamily, {
        ...loaded,
        familyOptions: { ...loaded.familyOptions, ...limits },
      });
      const tokensOf = async (images: ReturnType<typeof promptImages>): Promise<number> => {
        const prompt = { messages: [contentOf(known)], images };
        return (await small.ask('', { prompt, maxTokens: 1 })).usage.promptTokens;
      };
      const { tokenizer } = await loadTextSide(loaded.directory);
      const without = known.promptIds.filter((id) => id !== tokenizer.idOf(placeholder)).length;
      const images = promptImages(known);
      // Both sides are rounded down to whole groups.
      expect(await tokensOf(images)).toBe(without + image);
      expect(await tokensOf(images.map((image) => ({ ...image, hash: 'f'.repeat(64), isFrame: true })))).toBe(
        without + frame,
      );
      await small.engine.close();
    });

    it.runIf(scales === null)('is not loaded if an image may take more tokens than it is quoted for', async () => {
      const load = loadVisionLanguageFamily(
        { ...loaded, familyOptions: { ...loaded.familyOptions, imageTokens: 1 } },
        () => undefined,
      );
      await expect(load).rejects.toMatchObject({ code: 'INVALID_MODEL', param: 'familyOptions.imageTokens' });
    });
  });
}
