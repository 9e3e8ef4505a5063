import type { PackedMatrix } from '../decoder/packed-layer.js';
import { invalidFile } from '../invalid-file.js';
import { readFloats, readIntegers } from './safetensors-values.js';
import type { StoredTensor } from './safetensors-weights.js';

/** How a published checkpoint packs integer weights. */
export interface PackedLayout {
  kind: 'awq' | 'gptq' | 'compressed';
  bits: 4 | 8;
  /** Inputs that share a scale; null: all. */
  groupSize: number | null;
  /** Added to stored zero points. */
  zeroOffset: number;
  /** Inputs were sorted by activation when they were grouped. */
  isReordered: boolean;
  /** Zero points are the middle codes, as the configuration says. */
  isSymmetric: boolean;
}

/** Smallest block of the kernels. */
export const smallestGroup = 32;
/** Nibble of a word, from the lowest, by output column in AWQ's GEMM layout. */
const awqNibbles = [0, 4, 1, 5, 2, 6, 3, 7];

/** The tensors of a packed linear layer. */
export interface PackedTensors {
  codes: StoredTensor;
  /** Absent: codes are symmetric around the middle one. */
  zeros?: StoredTensor;
  scales: StoredTensor;
  /** Group of each input, which may be in any order. */
  groups?: StoredTensor;
}

export function codesPerWord({ bits }: PackedLayout): number {
  return 32 / bits;
}

/** Returns the code of zero where codes are symmetric. */
export function middleCode({ bits }: PackedLayout): number {
  return 2 ** (bits - 1);
}

/** Checks sizes by the headers alone. Returns the sizes of the layer. */
export function packedSizes(layout: PackedLayout, tensors: PackedTensors): { inputs: number; outputs: number } {
  const [rows = 0, columns = 0] = tensors.codes.entry.shape;
  const perWord = codesPerWord(layout);
  const isCompressed = layout.kind === 'compressed';
  const [inputs, outputs] = {
    awq: [rows, columns * perWord],
    gptq: [rows * perWord, columns],
    compressed: [columns * perWord, rows],
  }[layout.kind] as [number, number];
  const { file, entry } = tensors.codes;
  if (inputs % (layout.groupSize ?? smallestGroup) !== 0) {
    throw invalidFile(file.name, `${entry.name} has ${inputs} inputs, which are no whole groups`);
  }
  const groups = inputs / (layout.groupSize ?? inputs);
  requireShape(tensors.codes, [rows, columns]);
  requireShape(tensors.scales, isCompressed ? [outputs, groups] : [groups, outputs]);
  if (tensors.zeros) {
    requireShape(tensors.zeros, isCompressed ? [outputs / perWord, groups] : [groups, outputs / perWord]);
  }
  if (tensors.groups) requireShape(tensors.groups, [inputs]);
  return { inputs, outputs };
}

function requireShape({ file, entry }: StoredTensor, shape: number[]): void {
  if (entry.shape.join() === shape.join()) return;
  throw invalidFile(file.name, `${entry.name} is [${entry.shape.join(', ')}], not [${shape.join(', ')}]`);
}

/** Reads a layer; its codes stay packed. */
export async function readPackedMatrix(layout: PackedLayout, tensors: PackedTensors): Promise<PackedMatrix> {
  const { inputs, outputs } = packedSizes(layout, tensors);
  const groupSize = layout.groupSize ?? inputs;
  const words = await readIntegers(tensors.codes.file, tensors.codes.entry);
  const codeAt = codeReader(layout, words, { inputs, outputs });
  const codes = (from: number, to: number): Uint8Array => {
    const result = new Uint8Array((to - from) * inputs);
    for (let input = 0; input < inputs; input++) {
      for (let output = from; output < to; output++) {
        result[(output - from) * inputs + input] = codeAt(input, output);
      }
    }
    return result;
  };
  const groups = inputs / groupSize;
  const { file, entry } = tensors.scales;
  const stored = await readFloats(file, entry, 0, groups * outputs);
  const scales =
    layout.kind === 'compressed'
      ? stored.map((_, index) => stored[(index % outputs) * groups + Math.floor(index / outputs)] as number)
      : stored;
  return { inputs, outputs, groupSize, codes, zeros: await readZeros(layout, tensors, { groups, outputs }), scales };
}

function codeReader(
  { kind, bits }: PackedLayout,
  words: Int32Array,
  { inputs, outputs }: { inputs: number; outputs: number },
): (input: number, output: number) => number {
  const [perWord, mask] = [32 / bits, 2 ** bits - 1];
  if (kind === 'awq') return (input, output) => awqCode(words, input * (outputs / perWord), output);
  if (kind === 'gptq') {
    return (input, output) =>
      ((words[Math.floor(input / perWord) * outputs + output] as number) >>> (bits * (input % perWord))) & mask;
  }
  const perRow = inputs / perWord;
  return (input, output) =>
    ((words[output * perRow + Math.floor(input / perWord)] as number) >>> (bits * (input % perWord))) & mask;
}

/** Returns the zero points, `[groups, outputs]`. */
export async function readZeros(
  layout: PackedLayout,
  { zeros }: PackedTensors,
  { groups, outputs }: { groups: number; outputs: number },
): Promise<Uint8Array> {
  const result = new Uint8Array(groups * outputs).fill(middleCode(layout));
  if (!zeros) return result;
  const { kind, bits, zeroOffset } = layout;
  const [perWord, mask] = [codesPerWord(layout), 2 ** bits - 1];
  const words = await readIntegers(zeros.file, zeros.entry);
  return result.map((_, index) => {
    const [row, output] = [Math.floor(index / outputs), index % outputs];
    if (kind === 'awq') return awqCode(words, row * (outputs / perWord), output);
    const [word, place] = [Math.floor(output / perWord), bits * (output % perWord)];
    const stored = words[kind === 'gptq' ? row * (outputs / perWord) + word : word * groups + row] as number;
    return (((stored >>> place) & mask) + zeroOffset) & mask;
  });
}

function awqCode(words: Int32Array, rowStart: number, output: number): number {
  const nibble = awqNibbles[output & 7] as number;
  return ((words[rowStart + (output >> 3)] as number) >>> (4 * nibble)) & 15;
}

/** Returns the group of each input, or null if they are in order. Throws for a group that there is not. */
export async function readGroups(
  { groups: stored }: PackedTensors,
  { inputs, groupSize }: { inputs: number; groupSize: number },
): Promise<Int32Array | null> {
  if (!stored) return null;
  const groups = await readIntegers(stored.file, stored.entry);
  const isOrdered = groups.every((group, input) => group === Math.floor(input / groupSize));
  if (isOrdered) return null;
  const wrong = groups.findIndex((group) => group < 0 || group >= inputs / groupSize);
  if (wrong < 0) return groups;
  throw invalidFile(
    stored.file.name,
    `${stored.entry.name} puts input ${wrong} into group ${groups[wrong]} of ${inputs / groupSize}`,
  );
}
