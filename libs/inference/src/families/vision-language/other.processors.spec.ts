import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { productOf } from '#common/values';
import type { GraphTensor } from '../../runtime/graph-session.js';
import { rotaryPositions } from '../../text/rotary-positions.js';
import { TextTokenizer } from '../../text/index.js';
import { drawImage, floatsFrom, type KnownCase } from './__fixtures__/known-cases.js';
import { LlavaProcessor } from './llava.processor.js';
import { Qwen2VlProcessor } from './qwen2-vl.processor.js';
import { RecordingVision } from './recording-vision.js';

const read = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url), 'utf8')) as Record<string, unknown>;

function filesOf(folder: string, vision: RecordingVision, more: object = {}) {
  return {
    config: read(`${folder}/config.json`),
    preprocessor: { ...read(`${folder}/preprocessor_config.json`), ...more },
    tokenizer: TextTokenizer.fromFiles(read(`${folder}/tokenizer.json`), read(`${folder}/tokenizer_config.json`)),
    session: vision.session,
  };
}

const processors = {
  'tiny-llava': () => {
    const vision = new RecordingVision({ pixel_values: 'float32' }, 16);
    const more = { patch_size: 8, num_additional_image_tokens: 1, vision_feature_select_strategy: 'default' };
    return { vision, processor: new LlavaProcessor(filesOf('tiny-llava', vision, more)) };
  },
  'tiny-qwen2-vl': () => {
    const inputs = { pixel_values: 'float32', image_grid_thw: 'int64' } as const;
    const vision = new RecordingVision(inputs, ({ pixel_values: patches }) => (patches?.dims[0] ?? 0) / 4);
    return { vision, processor: new Qwen2VlProcessor(filesOf('tiny-qwen2-vl', vision)) };
  },
};

const valuesOf = (tensor: GraphTensor | undefined): number[] => [...((tensor?.data ?? []) as Float32Array)];

for (const [folder, make] of Object.entries(processors)) {
  const { cases } = read(`${folder}.json`) as unknown as { cases: KnownCase[] };

  describe(`the preprocessing of ${folder}`, () => {
    for (const { images, pixels } of cases.filter((known) => known.pixels !== null)) {
      it(`scales and orders samples as transformers does: ${images.join(' and ')}`, async () => {
        const { vision, processor } = make();
        for (const [seed, size] of images.entries()) {
          const image = { pixels: drawImage(size, seed), param: 'image' };
          // Each processor takes the layouts that it made.
          await processor.encode(
            image.pixels,
            (processor.layout as (drawn: typeof image) => unknown).call(processor, image) as never,
            () => true,
          );
        }
        const made = vision.runs.flatMap(({ pixel_values: values }) => valuesOf(values));
        expect(made.length).toBe(productOf(pixels?.shape ?? []));
        const expected = floatsFrom(pixels?.everySeventh ?? '');
        const seventh = made.filter((_, index) => index % 7 === 0);
        const furthest = seventh.reduce((far, value, at) => Math.max(far, Math.abs(value - (expected[at] ?? NaN))), 0);
        expect(furthest).toBeLessThan(1e-6);
        expect(made.reduce((sum, value) => sum + value, 0)).toBeCloseTo(pixels?.sum ?? NaN, 1);
      });
    }
  });
}

describe('positions in time, height and width', () => {
  it('count text in all three and an image along its grid, and go on behind the largest', () => {
    const layout = { text: '', tokens: 6, grid: { rows: 2, columns: 3 } };
    const { values, shift } = rotaryPositions(10, [{ layout, runs: [{ start: 2, length: 6, offset: 0 }] }]);
    expect([...values.slice(0, 10)]).toEqual([0, 1, 2, 2, 2, 2, 2, 2, 5, 6]);
    expect([...values.slice(10, 20)]).toEqual([0, 1, 2, 2, 2, 3, 3, 3, 5, 6]);
    expect([...values.slice(20)]).toEqual([0, 1, 2, 3, 4, 2, 3, 4, 5, 6]);
    // The position after the prompt is 7, its index is 10.
    expect(shift).toBe(-3);
  });
});

describe('an image that is too long', () => {
  it('is refused by its part', () => {
    const { processor } = processors['tiny-qwen2-vl']();
    const pixels = { width: 402, height: 2, data: new Uint8Array(402 * 2 * 3) };
    expect(() => processor.layout({ pixels, param: 'messages[0].content[0]' })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param: 'messages[0].content[0]' }),
    );
  });

  it('never takes more tokens than a bound, however thin it is', () => {
    const { processor } = processors['tiny-qwen2-vl']();
    const pixels = { width: 4_000, height: 20, data: new Uint8Array(4_000 * 20 * 3) };
    expect(processor.layout({ pixels, param: '' }).tokens).toBeLessThanOrEqual(processor.maxImageTokens);
  });
});
