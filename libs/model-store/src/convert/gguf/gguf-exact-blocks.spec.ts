import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ggufFile } from '#test/tiny-models/source-formats';
import { openSplitRunner } from '#test/tiny-models/graph-runner';
import { type GgufPart, joinGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { memoryAccess, readOnnxModel } from '../../onnx/index.js';
import type { ConversionOptions } from '../conversion.js';
import { convertGguf } from '../gguf.converter.js';
import { quantizeRows, type BlockFormat } from '../decoder/quantize-blocks.js';
import { dequantize } from './gguf-dequantize.js';
import { ggufTypes, type GgufType } from './gguf-types.js';

let folder: string;
const tiny = tinyDecoder('llama', 1);

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'gguf-blocks-'))));
afterAll(() => rm(folder, { recursive: true }));

function typeNumber(name: string): number {
  const [found] = [...ggufTypes].find(([, type]) => type.name === name) ?? [];
  if (found === undefined) throw new Error(`${name} is not in the table.`);
  return found;
}

/** Offset of the upper byte of the scale in a block; its exponent is bounded. */
const scaleBytes: Record<string, number> = { Q6_K: 209, Q3_K: 109, IQ1_M: 55, TQ1_0: 53, TQ2_0: 65 };

function randomBlocks(seed: string, type: GgufType, values: number): Buffer {
  const bytes = Buffer.alloc((values / type.values) * type.bytes);
  for (let from = 0; from < bytes.length; from += 32) {
    createHash('sha256').update(`${seed} ${from}`).digest().copy(bytes, from);
  }
  for (let from = 0; from < bytes.length; from += type.bytes) {
    const scale = from + (scaleBytes[type.name] ?? (type.name === 'MXFP4' ? 0 : 1));
    bytes[scale] = type.name === 'MXFP4' ? 120 : ((bytes[scale] ?? 0) & 0x83) | 0x24;
  }
  return bytes;
}

/** The tiny model with random blocks of the type as its matrices; of 256 columns for types with long blocks. */
async function quantizedFile(name: string): Promise<{ file: Buffer; matrices: GgufPart[] }> {
  const number = typeNumber(name);
  const type = ggufTypes.get(number) as GgufType;
  const { metadata, tensors } = splitGguf(await ggufFile(tiny));
  const matrices = tensors.filter(
    ({ dimensions }) => dimensions.length === 2 && (dimensions[0] ?? 0) % type.values === 0,
  );
  for (const matrix of matrices) {
    const values = matrix.dimensions.reduce((product, size) => product * size, 1);
    Object.assign(matrix, { type: number, data: randomBlocks(matrix.name, type, values) });
  }
  return { file: joinGguf({ metadata, tensors }), matrices };
}

async function convert(file: Buffer, options: ConversionOptions): Promise<{ path: string; converter: string }> {
  const [inputFolder, outputFolder] = [join(folder, 'in'), join(folder, 'out')];
  await Promise.all([inputFolder, outputFolder].map((path) => rm(path, { recursive: true, force: true })));
  await Promise.all([inputFolder, outputFolder].map((path) => mkdir(path, { recursive: true })));
  await writeFile(join(inputFolder, 'tiny.gguf'), file);
  const { converter } = await convertGguf({ inputFolder, outputFolder, options });
  return { path: join(outputFolder, 'model.onnx'), converter };
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

/** Matrices whose rows keep their order, and their names in the graph. */
const layers: readonly (readonly [graph: string, gguf: string])[] = [
  ['layers.0.value', 'blk.0.attn_v.weight'],
  ['layers.1.attention_output', 'blk.1.attn_output.weight'],
  ['layers.1.down', 'blk.1.ffn_down.weight'],
];

describe('convertGguf', () => {
  it.each([
    ['Q4_0', 'int4', 32],
    ['Q8_0', 'int8', 32],
    ['Q5_0', 'int8', 32],
    ['IQ4_NL', 'int8', 32],
    ['MXFP4', 'int8', 32],
    ['Q4_0', 'int4', 16],
  ] as const)('keeps the blocks of %s in %s blocks of %i to the bit', async (name, weights, blockSize) => {
    const { file, matrices } = await quantizedFile(name);
    const { path } = await convert(file, { weights, blockSize });
    for (const [graph, gguf] of layers) {
      const { type, data } = matrices.find((matrix) => matrix.name === gguf) as GgufPart;
      const expected = dequantize(ggufTypes.get(type) as GgufType, Uint8Array.from(data));
      const values = await graphValues(path, graph, { bits: weights === 'int4' ? 4 : 8, blockSize });
      expect(Buffer.from(values.buffer).equals(Buffer.from(expected.map((value) => value + 0).buffer))).toBe(true);
    }
    const runner = await openSplitRunner(path, tiny.shape, 16);
    const { logits } = await runner.append([300, 17, 400]);
    await runner.release();
    expect(logits.every(Number.isFinite)).toBe(true);
  });
});

describe('quantizeRows', () => {
  const kept = [...ggufTypes.values()].flatMap((type) => (type.kept ? [[type.name, type.kept, type] as const] : []));
  const again = [...ggufTypes.values()].filter((type) => !type.kept && type.values > 1);

  it.each(kept)('keeps every value of %s in %j', (_, format, type) => {
    const values = dequantize(type, Uint8Array.from(randomBlocks('kept', type, 20 * 256)));
    const { codes, scales } = quantizeRows(values, 256, format);
    const expected = Buffer.from(values.map((value) => value + 0).buffer);
    expect(Buffer.from(restored(codes, scales, format).buffer).equals(expected)).toBe(true);
  });

  it('quantises only types with a minimum per block again', () => {
    expect(again.map(({ name }) => name)).toEqual(['Q4_1', 'Q5_1', 'Q2_K', 'Q4_K', 'Q5_K']);
  });
});
