import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { productOf } from '#common/values';
import type { GraphTensor } from '../../runtime/graph-session.js';
import { TextTokenizer } from '../../text/index.js';
import { floatsFrom, type KnownCase, drawImage } from './__fixtures__/known-cases.js';
import { Idefics3Processor } from './idefics3.processor.js';
import { RecordingVision } from './recording-vision.js';

const read = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url), 'utf8')) as Record<string, unknown>;
const folder = 'tiny-idefics3';
const { cases } = read(`${folder}.json`) as unknown as { cases: KnownCase[] };

function newProcessor(more: object = {}) {
  const vision = new RecordingVision({ pixel_values: 'float32', pixel_attention_mask: 'bool' }, 4);
  const processor = new Idefics3Processor({
    config: read(`${folder}/config.json`),
    preprocessor: { ...read(`${folder}/preprocessor_config.json`), image_seq_len: 4, ...more },
    tokenizer: TextTokenizer.fromFiles(read(`${folder}/tokenizer.json`), read(`${folder}/tokenizer_config.json`)),
    session: vision.session,
  });
  return { vision, processor };
}

const valuesOf = (tensor: GraphTensor | undefined): number[] => [...((tensor?.data ?? []) as Float32Array)];

describe('Idefics3Processor', () => {
  for (const { images, pixels } of cases.filter((known) => known.pixels !== null)) {
    it(`cuts and scales as transformers does: ${images.join(' and ')}`, async () => {
      const { vision, processor } = newProcessor();
      for (const [seed, size] of images.entries()) {
        const drawn = drawImage(size, seed);
        await processor.encode(drawn, processor.layout({ pixels: drawn }), () => true);
      }
      const made = vision.runs.flatMap(({ pixel_values: tile }) => valuesOf(tile));
      const shape = pixels?.shape ?? [];
      expect(made.length).toBe(productOf(shape));
      const expected = floatsFrom(pixels?.everySeventh ?? '');
      const seventh = made.filter((_, index) => index % 7 === 0);
      const furthest = seventh.reduce((far, value, at) => Math.max(far, Math.abs(value - (expected[at] ?? NaN))), 0);
      expect(furthest).toBeLessThan(1e-6);
      expect(made.reduce((sum, value) => sum + value, 0)).toBeCloseTo(pixels?.sum ?? NaN, 1);
    });
  }
});
