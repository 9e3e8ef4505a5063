import { createHash } from 'node:crypto';
import { productOf } from '#common/values';
import { encodeFloat16Array, readFloat16 } from '#common';
import { type GgufPart, joinGguf, splitGguf } from './gguf-parts.js';

/* GGUF files whose matrices have random blocks of quantised types. */

/** `values` values in `bytes` bytes. */
export interface BlockType {
  name: string;
  values: number;
  bytes: number;
}

/** Upper bytes of the half-precision numbers in a block, and their exponents; of other types the scale is the first. */
const halves: Record<string, readonly (readonly [at: number, exponent: number])[]> = {
  Q6_K: [[209, 9]],
  Q3_K: [[109, 9]],
  IQ1_M: [[55, 9]],
  TQ1_0: [[53, 9]],
  TQ2_0: [[65, 9]],
  Q4_1: [
    [1, 9],
    [3, 12],
  ],
  Q5_1: [
    [1, 8],
    [3, 12],
  ],
  Q2_K: [
    [81, 8],
    [83, 9],
  ],
  Q4_K: [
    [1, 5],
    [3, 8],
  ],
  Q5_K: [
    [1, 4],
    [3, 8],
  ],
};

/** The same bytes for a seed. Numbers are finite, and minima in proportion to scales. */
export function randomBlocks(seed: string, type: BlockType, values: number): Buffer {
  const bytes = Buffer.alloc((values / type.values) * type.bytes);
  for (let from = 0; from < bytes.length; from += 32) {
    createHash('sha256').update(`${seed} ${from}`).digest().copy(bytes, from);
  }
  for (let from = 0; from < bytes.length; from += type.bytes) {
    if (type.name === 'MXFP4') bytes[from] = 120;
    else for (const [at, exponent] of halves[type.name] ?? [[1, 9]]) limitHalf(bytes, from + at, exponent);
    if (type.name.endsWith('_1')) bytes[from + 3] = (bytes[from + 3] ?? 0) | 0x80;
    if (type.name === 'Q4_K' || type.name === 'Q5_K') equalGroups(bytes, from + 4);
  }
  return bytes;
}

function limitHalf(bytes: Buffer, upper: number, exponent: number): void {
  bytes[upper] = ((bytes[upper] ?? 0) & 0x03) | (exponent << 2);
}

/** Gives the groups of a block the same 6 bits for their minimum as for their scale. */
function equalGroups(bytes: Buffer, from: number): void {
  bytes.copy(bytes, from + 4, from, from + 4);
  for (let index = 8; index < 12; index++) {
    const low = (bytes[from + index] ?? 0) & 15;
    bytes[from + index] = low | (low << 4);
  }
}

/** The file with random blocks of the types, by name, that `typeOf` chooses for its matrices. */
export function quantizedGguf(
  file: Buffer,
  types: ReadonlyMap<number, BlockType>,
  typeOf: (tensor: string) => string | undefined,
): Buffer {
  const { metadata, tensors } = splitGguf(file);
  const changed = tensors.map((tensor) => {
    const { name, dimensions } = tensor;
    const wanted = dimensions.length > 1 ? typeOf(name) : undefined;
    if (wanted === undefined) return tensor;
    const [number, type] = [...types].find(([, each]) => each.name === wanted) ?? [];
    if (number === undefined || !type) throw new Error(`${wanted} is not in the table.`);
    const values = productOf(dimensions);
    return { ...tensor, type: number, data: randomBlocks(name, type, values) };
  });
  return joinGguf({ metadata, tensors: changed });
}

/** The file of floats with the matrices of its layers as Q4_1: 4 bits, and a minimum in each block of 32. */
export function minimaGguf(file: Buffer): Buffer {
  const { metadata, tensors } = splitGguf(file);
  const changed = tensors.map((tensor) => {
    const { name, dimensions } = tensor;
    const isLayer = dimensions.length > 1 && name.startsWith('blk.') && !name.includes('ffn_gate_inp');
    return isLayer && (dimensions[0] ?? 0) % 32 === 0
      ? { ...tensor, type: 3, data: encodeQ41(floatsOf(tensor)) }
      : tensor;
  });
  return joinGguf({ metadata, tensors: changed });
}

function floatsOf({ type, data, dimensions }: GgufPart): Float32Array {
  const values = productOf(dimensions);
  return Float32Array.from({ length: values }, (_, index) =>
    type === 1 ? readFloat16(data, 2 * index) : data.readFloatLE(4 * index),
  );
}

function encodeQ41(values: Float32Array): Buffer {
  const bytes = Buffer.alloc((values.length / 32) * 20);
  for (let block = 0; block < values.length / 32; block++) {
    const own = values.subarray(block * 32, (block + 1) * 32);
    const minimum = Math.min(...own);
    const scale = (Math.max(...own) - minimum) / 15;
    encodeFloat16Array(Float32Array.of(scale, minimum)).forEach((half, index) =>
      bytes.writeUInt16LE(half, block * 20 + 2 * index),
    );
    const code = (index: number) => Math.round(((own[index] ?? 0) - minimum) / scale);
    for (let index = 0; index < 16; index++) bytes[block * 20 + 4 + index] = code(index) | (code(index + 16) << 4);
  }
  return bytes;
}
