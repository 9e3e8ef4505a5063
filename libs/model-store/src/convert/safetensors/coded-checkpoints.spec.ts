import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { graphWeights } from '../__fixtures__/graph-weights.js';
import { convertModel } from '../index.js';
import { HubCheckpoint } from './hub-checkpoint.js';
import { filesBelowFolder } from './model-files.js';

/* Weights of published forms that are no plain floats. `safetensors.converter.spec.ts` compares their results. */

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'coded-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function inputOf(name: string): Promise<string> {
  const input = await mkdtemp(join(folder, `${name}-`));
  await copyTinyDecoder(name, input);
  return input;
}

/** The weights of a converted graph by name. */
async function convert(inputFolder: string, weights: string): Promise<Map<string, ArrayBuffer>> {
  const outputFolder = await mkdtemp(join(folder, 'out-'));
  await convertModel({ kind: 'safetensors', options: { weights }, inputFolder, outputFolder });
  return await graphWeights(outputFolder);
}

/** `[inputs, outputs]` of a layer in blocks of 8 bits. */
function restored(weights: Map<string, ArrayBuffer>, layer: string): Float32Array {
  const codes = new Uint8Array(weights.get(`${layer}.codes`) ?? expect.fail(`${layer} has no codes`));
  const scales = new Float32Array(weights.get(`${layer}.scales`) ?? expect.fail(`${layer} has no scales`));
  const inputs = 64;
  const outputs = codes.length / inputs;
  const blocks = scales.length / outputs;
  const values = new Float32Array(codes.length);
  codes.forEach((code, index) => {
    const [output, input] = [Math.floor(index / inputs), index % inputs];
    values[input * outputs + output] =
      (code - 128) * (scales[output * blocks + Math.floor((input * blocks) / inputs)] ?? NaN);
  });
  return values;
}

const layers = ['query', 'key', 'value', 'attention_output', 'gate', 'up', 'down'].map((part) => `layers.0.${part}`);

describe('weights that were coded', () => {
  it.each(['llama-nvfp4', 'llama-mxfp4', 'llama-w8a8', 'llama-w8a16', 'llama-gptq-8'])(
    'keep every value in blocks of 8 bits: %s',
    async (name) => {
      const input = await inputOf(name);
      const [stored, floats] = [await convert(input, 'stored'), await convert(input, 'float32')];
      for (const layer of layers) {
        const whole = new Float32Array(floats.get(layer) ?? expect.fail());
        // Codes have no negative zero.
        expect(restored(stored, layer)).toEqual(whole.map((value) => value + 0));
      }
    },
  );

  it('keep every value of experts', async () => {
    const input = await inputOf('qwen3-moe-nvfp4');
    const [stored, floats] = [await convert(input, 'stored'), await convert(input, 'float32')];
    for (const expert of [0, 3]) {
      const layer = `layers.0.expert_gate+layers.0.expert_up.${expert}`;
      const whole = new Float32Array(floats.get(layer) ?? expect.fail());
      expect(restored(stored, layer)).toEqual(whole.map((value) => value + 0));
    }
  });

  it.each([
    'qwen3-fp8',
    'deepseek-v3-fp8',
    'deepseek-v3.2-fp8',
    'llama-fp8-channel',
    'llama-fp8-modelopt',
    'llama-mxfp8',
    'llama-gptq-8-zeros',
    'llama-gptq-order',
    'llama-w4a16-order',
  ])('become floats where no block holds every value: %s', async (name) => {
    const input = await inputOf(name);
    const [stored, floats] = [await convert(input, 'stored'), await convert(input, 'float32')];
    expect([...stored.keys()]).toEqual([...floats.keys()]);
    for (const [weight, content] of floats) expect(stored.get(weight)).toEqual(content);
  });

  it.each([
    ['llama-w4a16', false],
    ['llama-w4a16-zeros', true],
  ])('keep their 4 bits: %s', async (name, hasZeros) => {
    const stored = await convert(await inputOf(name), 'stored');
    for (const layer of layers) {
      expect(stored.has(`${layer}.codes`)).toBe(true);
      expect(stored.has(`${layer}.zero_points`)).toBe(hasZeros);
    }
  });

  it.each([
    ['qwen3-fp8', ['FP8', 'BF16'], 0, 0],
    ['llama-nvfp4', ['BF16', 'FP4'], 0, 7 * 64 * 64 - 2 * 64 * 32],
    ['llama-gptq-8-zeros', ['BF16', 'GPTQ 8-bit'], 0, 0],
    ['llama-gptq-order', ['BF16', 'GPTQ 4-bit'], 0, 0],
    ['llama-w4a16', ['BF16', '4-bit'], 7 * 64 * 64 - 2 * 64 * 32, 0],
  ])('are counted by what the graph keeps: %s', async (name, types, packed, kept) => {
    const checkpoint = await HubCheckpoint.open(await filesBelowFolder(await inputOf(name)));
    const stored = checkpoint.stored();
    await checkpoint.close();
    expect([stored.types.toSorted(), stored.packed, stored.kept]).toEqual([types.toSorted(), packed, kept]);
  });
});

describe('coded weights that cannot be converted', () => {
  const group = (weights: object, more: object = {}) => ({
    quantization_config: { quant_method: 'compressed-tensors', config_groups: { group_0: { weights } }, ...more },
  });
  const four = { num_bits: 4, type: 'int' };

  it.each([
    [group({ num_bits: 2, type: 'int' }), 'its compressed-tensors quantization of 2 bits'],
    [group(four, { sparsity_config: { format: 'sparse-24-bitmask' } }), 'its sparsity sparse-24-bitmask'],
    [
      group(four, { transform_config: { config_groups: { R1: {} } } }),
      'its quantization with rotated activations (transform_config)',
    ],
  ])('are refused by their settings: %j', async (change, reason) => {
    const input = await inputOf('llama-w4a16');
    const path = join(input, 'config.json');
    await writeFile(path, JSON.stringify({ ...(JSON.parse(await readFile(path, 'utf8')) as object), ...change }));
    await expect(convert(input, 'stored')).rejects.toThrow(reason);
  });

  it('are refused by tensor where scales do not fit', async () => {
    const input = await inputOf('qwen3-fp8');
    const path = join(input, 'config.json');
    const config = JSON.parse(await readFile(path, 'utf8')) as { quantization_config: Record<string, unknown> };
    config.quantization_config['weight_block_size'] = [64, 128];
    await writeFile(path, JSON.stringify(config));
    await expect(convert(input, 'stored')).rejects.toThrow(
      /weight_scale_inv is \[2, 2\], which are no scales of \d+ rows of/,
    );
  });

  it('are refused by tensor where a code is no number', async () => {
    const input = await inputOf('llama-fp8-channel');
    const path = join(input, 'model.safetensors');
    const content = await readFile(path);
    const length = Number(content.readBigUInt64LE(0));
    const list = JSON.parse(content.subarray(8, 8 + length).toString()) as Record<string, { data_offsets: [number] }>;
    const name = 'model.layers.0.mlp.up_proj.weight';
    content[8 + length + (list[name]?.data_offsets[0] ?? expect.fail()) + 5] = 0x7f;
    await writeFile(path, content);
    await expect(convert(input, 'stored')).rejects.toThrow(`value 5 of ${name} at byte`);
  });
});
