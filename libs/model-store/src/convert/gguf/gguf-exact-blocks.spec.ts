import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ggufFile } from '#test/tiny-models/source-formats';
import { openSplitRunner } from '#test/tiny-models/graph-runner';
import { quantizedGguf, randomBlocks } from '#test/tiny-models/quantized-gguf';
import { type GgufPart, splitGguf } from '#test/tiny-models/gguf-parts';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { decodeNode, memoryAccess, readOnnxModel } from '../../onnx/index.js';
import type { ConversionOptions } from '../conversion.js';
import { convertGguf } from '../gguf.converter.js';
import { keptBlockPieces } from '../decoder/offset-blocks.js';
import { widestFormat } from '../decoder/linear-layer.js';
import { quantizeRows, type BlockFormat } from '../decoder/quantize-blocks.js';
import { dequantize } from './gguf-dequantize.js';
import { ggufTypes, type GgufType } from './gguf-types.js';
import { readOffsetRows } from './minimum-blocks.js';

let folder: string;
const tiny = tinyDecoder('llama', 1);

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'gguf-blocks-'))));
afterAll(() => rm(folder, { recursive: true }));

/** The tiny model with random blocks of the types. */
async function quantizedFile(
  typeOf: (tensor: string) => string | undefined,
): Promise<{ file: Buffer; tensors: GgufPart[] }> {
  const file = quantizedGguf(await ggufFile(tiny), ggufTypes, typeOf);
  return { file, tensors: splitGguf(file).tensors };
}

async function convert(file: Buffer, options: ConversionOptions): Promise<{ path: string; converter: string }> {
  const [inputFolder, outputFolder] = [join(folder, 'in'), join(folder, 'out')];
  await Promise.all([inputFolder, outputFolder].map((path) => rm(path, { recursive: true, force: true })));
  await Promise.all([inputFolder, outputFolder].map((path) => mkdir(path, { recursive: true })));
  await writeFile(join(inputFolder, 'tiny.gguf'), file);
  const { converter } = await convertGguf({ inputFolder, outputFolder, options });
  return { path: join(outputFolder, 'model.onnx'), converter };
}

/** Bits of the linear layers in a converted graph, or their floats, by name. */
async function formatsOf(path: string): Promise<Map<string, number | string>> {
  const { nodes } = await readOnnxModel(memoryAccess(await readFile(path)));
  const products = (await Promise.all(nodes.map(decodeNode))).filter(({ operator }) => operator.startsWith('MatMul'));
  return new Map(
    products.map(({ inputs, integers }) => [(inputs[1] ?? '').replace('.codes', ''), integers['bits'] ?? 'float32']),
  );
}

/** Values of a linear layer in a converted graph, as MatMulNBits computes them. */
async function graphValues(path: string, layer: string, format: BlockFormat) {
  const bytes = await readFile(path);
  const { initializers } = await readOnnxModel(memoryAccess(bytes));
  const dataOf = (name: string) => {
    const { data } = initializers.find((tensor) => tensor.name === name) ?? { data: { start: 0, length: 0 } };
    return Uint8Array.from(bytes.subarray(data.start, data.start + data.length));
  };
  return restored(dataOf(`${layer}.codes`), new Float32Array(dataOf(`${layer}.scales`).buffer), format);
}

function restored(codes: Uint8Array, scales: Float32Array, { bits, blockSize }: BlockFormat): Float32Array {
  return Float32Array.from({ length: scales.length * blockSize }, (_, index) => {
    const byte = codes[Math.floor((index * bits) / 8)] ?? 0;
    const code = bits === 8 ? byte - 128 : (index % 2 === 0 ? byte & 15 : byte >> 4) - 8;
    return code * (scales[Math.floor(index / blockSize)] ?? NaN) + 0;
  });
}

/** Square error over the square of the expected. */
function distance(found: Float32Array, expected: Float32Array): number {
  const error = expected.reduce((sum, value, index) => sum + (value - (found[index] ?? NaN)) ** 2, 0);
  return error / expected.reduce((sum, value) => sum + value ** 2, 0);
}

/** Matrices whose rows keep their order, and their names in the graph. */
const layers: readonly (readonly [graph: string, gguf: string])[] = [
  ['layers.0.value', 'blk.0.attn_v.weight'],
  ['layers.1.attention_output', 'blk.1.attn_output.weight'],
  ['layers.1.down', 'blk.1.ffn_down.weight'],
];

describe('a tied output layer', () => {
  const wide = tinyDecoder('wide', 1);
  const tied = { ...wide, shape: { ...wide.shape, tiedHead: true } };

  /** Logits after some tokens, and the names of the weights. */
  async function run(file: Buffer, options: ConversionOptions) {
    const { path } = await convert(file, options);
    const { initializers } = await readOnnxModel(memoryAccess(await readFile(path)));
    const runner = await openSplitRunner(path, tied.shape, 16);
    const { logits } = await runner.append([300, 17, 400, 265]);
    await runner.release();
    return { logits, names: initializers.map(({ name }) => name) };
  }

  it.each(['Q8_0', 'Q6_K', 'Q5_0'])('shares the table of the embeddings in %s with every value', async (name) => {
    const file = quantizedGguf(await ggufFile(tied), ggufTypes, (tensor) =>
      tensor === 'token_embd.weight' ? name : tensor.startsWith('blk.') ? 'Q8_0' : undefined,
    );
    const shared = await run(file, {});
    expect(shared.names).toContain('head.codes');
    expect(shared.names).not.toContain('embedding');
    // With an output layer of its own in floats, the embeddings are a table in half precision.
    const apart = await run(file, { headWeights: 'float32' });
    expect(apart.names).toEqual(expect.arrayContaining(['embedding', 'head']));
    expect(distance(shared.logits, apart.logits)).toBeLessThan(0.002);
  });

  it('shares the table in floats, and no other', async () => {
    const file = await ggufFile(tied);
    const { names, logits } = await run(file, {});
    expect(names).toContain('embedding');
    expect(names).not.toContain('head');
    const untied = await run(await ggufFile({ ...tied, shape: { ...tied.shape, tiedHead: false } }), {});
    expect(untied.names).toContain('head');
    expect(logits.every(Number.isFinite)).toBe(true);
    const narrow = await run(file, { weights: 'int4' });
    expect(narrow.names).toEqual(expect.arrayContaining(['embedding', 'head.codes']));
  });
});

describe('convertGguf', () => {
  it.each([
    ['Q4_0', 'int4', 32],
    ['Q8_0', 'int8', 32],
    ['Q5_0', 'int8', 32],
    ['IQ4_NL', 'int8', 32],
    ['MXFP4', 'int8', 32],
    ['Q4_0', 'int4', 16],
  ] as const)('keeps the blocks of %s in %s blocks of %i to the bit', async (name, weights, blockSize) => {
    const { file, tensors } = await quantizedFile(() => name);
    const { path } = await convert(file, { weights, blockSize });
    for (const [graph, gguf] of layers) {
      const { type, data } = tensors.find((tensor) => tensor.name === gguf) as GgufPart;
      const expected = dequantize(ggufTypes.get(type) as GgufType, Uint8Array.from(data));
      const values = await graphValues(path, graph, { bits: weights === 'int4' ? 4 : 8, blockSize });
      expect(Buffer.from(values.buffer).equals(Buffer.from(expected.map((value) => value + 0).buffer))).toBe(true);
    }
    const runner = await openSplitRunner(path, tiny.shape, 16);
    const { logits } = await runner.append([300, 17, 400]);
    await runner.release();
    expect(logits.every(Number.isFinite)).toBe(true);
  });

  it('stores each layer in the precision of its own tensor', async () => {
    const types: Record<string, string> = {
      attn_v: 'Q8_0',
      ffn_down: 'Q5_0',
      ffn_gate: 'Q4_0',
      attn_q: 'Q4_0',
      output: 'Q4_0',
    };
    const { file } = await quantizedFile((name) => types[name.split('.').at(-2) ?? '']);
    const { path, converter } = await convert(file, {});
    expect(converter).toBe('gguf/6 stored blockSize=32 head=stored');
    const formats = await formatsOf(path);
    const layer = { query: 4, key: 'float32', value: 8, gate: 4, up: 'float32', down: 8 };
    for (const index of [0, 1]) {
      const found = Object.keys(layer).map((part) => [part, formats.get(`layers.${index}.${part}`)]);
      expect(Object.fromEntries(found)).toEqual(layer);
    }
    expect(formats.get('head')).toBe(4);
  });

  it.each([
    ['Q4_1', {}],
    ['Q5_1', {}],
    ['Q4_K', {}],
    ['Q5_K', {}],
    ['Q2_K', { blockSize: 16 }],
    ['Q6_K', {}],
  ] as const)('computes with the blocks of %s as with their values: %j', async (name, options) => {
    const wide = tinyDecoder('wide', 1);
    const file = quantizedGguf(await ggufFile(wide), ggufTypes, (tensor) =>
      tensor.startsWith('blk.') ? name : undefined,
    );
    const logits = async (chosen: ConversionOptions) => {
      const runner = await openSplitRunner((await convert(file, chosen)).path, wide.shape, 16);
      const { logits: row } = await runner.append([300, 17, 400, 265]);
      await runner.release();
      return row;
    };
    // What rounding the inputs to 8 bits leaves; rounding the blocks to 4 bits leaves five times as much or more.
    expect(distance(await logits(options), await logits({ weights: 'float32' }))).toBeLessThan(0.002);
  });

  it('gives the output layer 8 bits where 4 would round it', async () => {
    const { file } = await quantizedFile((name) => (name === 'output.weight' ? 'IQ4_NL' : 'Q4_0'));
    expect((await formatsOf((await convert(file, {})).path)).get('head')).toBe(8);
    const { path } = await convert(file, { headWeights: 'int4' });
    expect((await formatsOf(path)).get('head')).toBe(4);
  });

  it('gives an output layer in floats 8 bits beside layers in blocks, and leaves it so beside floats', async () => {
    const { file } = await quantizedFile((name) => (name.startsWith('blk.') ? 'Q4_0' : undefined));
    expect((await formatsOf((await convert(file, {})).path)).get('head')).toBe(8);
    const { file: floats } = await quantizedFile(() => undefined);
    expect((await formatsOf((await convert(floats, {})).path)).get('head')).toBe('float32');
  });

  it('stores all layers in one precision on request', async () => {
    const { file } = await quantizedFile((name) => (name.includes('attn_v') ? 'Q8_0' : 'Q4_0'));
    const formats = await formatsOf((await convert(file, { weights: 'int4' })).path);
    expect(formats.get('layers.0.value')).toBe(4);
  });
});

describe('widestFormat', () => {
  const blocks = (bits: 4 | 8, blockSize: 16 | 32) => ({ kind: 'blocks', bits, blockSize }) as const;

  it('is the format that layers share, and holds the values of those that share none', () => {
    expect(widestFormat([blocks(4, 32), blocks(4, 32)])).toEqual(blocks(4, 32));
    expect(widestFormat([blocks(4, 32), blocks(8, 32)])).toEqual(blocks(8, 32));
    expect(widestFormat([blocks(8, 32), blocks(8, 16)])).toEqual(blocks(8, 16));
    expect(widestFormat([blocks(4, 32), { kind: 'float32' }])).toEqual({ kind: 'float32' });
  });
});

const typeCases = [...ggufTypes.values()].flatMap((type) => (type.kept ? [[type.name, type.kept, type] as const] : []));

describe('quantizeRows', () => {
  it.each(typeCases.filter(([, { hasOffset }]) => !hasOffset))('keeps every value of %s in %j', (_, format, type) => {
    const values = dequantize(type, Uint8Array.from(randomBlocks('kept', type, 20 * 256)));
    const { codes, scales } = quantizeRows(values, 256, format);
    const expected = Buffer.from(values.map((value) => value + 0).buffer);
    expect(Buffer.from(restored(codes, scales, format).buffer).equals(expected)).toBe(true);
  });
});

describe('keptBlockPieces', () => {
  it.each(typeCases.filter(([, { hasOffset }]) => hasOffset))(
    'keeps every value of %s in %j',
    async (_, format, type) => {
      const [inputs, outputs] = [512, 10];
      const bytes = Uint8Array.from(randomBlocks('offset', type, inputs * outputs));
      const blockRows = () => Promise.resolve(readOffsetRows(type, bytes, inputs));
      const weights = { rows: blockRows, vector: blockRows, blockRows };
      const pieces = keptBlockPieces(weights, format, { name: 'layer', inputs, outputs });
      const { value: codes } = await pieces.next();
      const { value: numbers } = await pieces.next();
      const [scales, offsets] = numbers as Float32Array[];
      if (!scales || !offsets) throw new Error('There are no scales.');
      const values = restored(codes as Uint8Array, scales, format);
      dequantize(type, bytes).forEach((value, index) => {
        const [row, block] = [Math.floor(index / inputs), Math.floor((index % inputs) / format.blockSize)];
        const offset = offsets[block * outputs + row] ?? NaN;
        // The last bit of the offset and of the value itself, which are rounded to float32.
        const bit = 2 ** -23 * Math.max(Math.abs(offset), Math.abs(value));
        expect(Math.abs((values[index] ?? NaN) + offset - value)).toBeLessThanOrEqual(bit);
      });
      const peak = Math.max(...values.map(Math.abs));
      expect(Math.max(...offsets.map(Math.abs))).toBeLessThan(2 * peak);
    },
  );
});
