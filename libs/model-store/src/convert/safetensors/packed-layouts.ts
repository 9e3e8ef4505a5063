import type { PackedMatrix } from '../decoder/packed-layer.js';
import { invalidFile } from '../invalid-file.js';
import type { HubConfig } from './hub-config.js';
import { readFloats, readIntegers } from './safetensors-values.js';
import type { StoredTensor } from './safetensors-weights.js';

/** How a published checkpoint packs 4-bit weights. */
export interface PackedLayout {
  kind: 'awq' | 'gptq';
  /** Inputs that share a scale; null: all. */
  groupSize: number | null;
  /** Added to stored zero points. */
  zeroOffset: number;
}

/** 4-bit codes in a 32-bit integer. */
export const codesPerWord = 8;
/** Smallest block of the kernels. */
const smallestGroup = 32;
/** Nibble of a word, from the lowest, by output column in AWQ's GEMM layout. */
const awqNibbles = [0, 4, 1, 5, 2, 6, 3, 7];

/**
 * Reads `quantization_config`; null without one. Throws `INVALID_MODEL` that names what is not supported and what would
 * run instead. The experts of gpt-oss in MXFP4 are no packed layers.
 */
export function readPackedLayout(config: HubConfig, { takesMxfp4 = false } = {}): PackedLayout | null {
  const settings = config.object('quantization_config') ?? config.object('compression_config');
  if (settings === null) return null;
  const kind = settings.text('quant_method', 'unknown');
  const refuse = (what: string) =>
    invalidFile('config.json', `${what} is not converted; the model in bf16 or fp16, its GGUF file, AWQ or GPTQ are`);
  if (kind === 'mxfp4' && takesMxfp4) return null;
  if (kind !== 'awq' && kind !== 'gptq') throw refuse(`its quantization ${kind.slice(0, 40)}`);
  const bits = settings.number('bits', settings.number('w_bit', 4));
  if (bits !== 4) throw refuse(`its ${kind} quantization of ${bits} bits`);
  const groupSize = groupSizeOf(settings);
  if (groupSize !== null && (groupSize < smallestGroup || groupSize % smallestGroup !== 0))
    throw refuse(`its ${kind} group size ${groupSize}`);
  if (kind === 'awq') {
    const version = settings.text('version', 'gemm').toLowerCase();
    if (version !== 'gemm') throw refuse(`its awq layout ${version.slice(0, 40)}`);
    return { kind, groupSize, zeroOffset: 0 };
  }
  if (settings.flag('desc_act', false)) throw refuse('its gptq quantization in activation order (desc_act)');
  const isFirst = settings.text('checkpoint_format', 'gptq') === 'gptq';
  return { kind, groupSize, zeroOffset: isFirst ? 1 : 0 };
}

function groupSizeOf(settings: HubConfig): number | null {
  const size = settings.number('group_size', settings.number('q_group_size', 128));
  return size === -1 ? null : size;
}

/** The tensors of a packed linear layer. */
export interface PackedTensors {
  codes: StoredTensor;
  zeros: StoredTensor;
  scales: StoredTensor;
  /** Group of each input; GPTQ only. */
  groups?: StoredTensor;
}

/** Checks sizes by the headers alone. Returns the sizes of the layer. */
export function packedSizes(layout: PackedLayout, tensors: PackedTensors): { inputs: number; outputs: number } {
  const [rows = 0, columns = 0] = tensors.codes.entry.shape;
  const isAwq = layout.kind === 'awq';
  const inputs = isAwq ? rows : rows * codesPerWord;
  const outputs = isAwq ? columns * codesPerWord : columns;
  const { file, entry } = tensors.codes;
  if (inputs % (layout.groupSize ?? smallestGroup) !== 0) {
    throw invalidFile(file.name, `${entry.name} has ${inputs} inputs, which are no whole groups`);
  }
  const groups = inputs / (layout.groupSize ?? inputs);
  requireShape(tensors.codes, isAwq ? [inputs, outputs / codesPerWord] : [inputs / codesPerWord, outputs]);
  requireShape(tensors.zeros, [groups, outputs / codesPerWord]);
  requireShape(tensors.scales, [groups, outputs]);
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
  if (tensors.groups) await refuseReordered(tensors.groups, groupSize);
  const words = await readIntegers(tensors.codes.file, tensors.codes.entry);
  const isAwq = layout.kind === 'awq';
  const codes = (from: number, to: number): Uint8Array => {
    const result = new Uint8Array((to - from) * inputs);
    for (let input = 0; input < inputs; input++) {
      for (let output = from; output < to; output++) {
        const code = isAwq
          ? awqCode(words, input * (outputs / codesPerWord), output)
          : ((words[(input >> 3) * outputs + output] as number) >>> (4 * (input & 7))) & 15;
        result[(output - from) * inputs + input] = code;
      }
    }
    return result;
  };
  const { file, entry } = tensors.scales;
  const scales = await readFloats(file, entry, 0, (inputs / groupSize) * outputs);
  return { inputs, outputs, groupSize, codes, zeros: await readZeros(layout, tensors.zeros, outputs), scales };
}

/** Returns the zero points, `[inputs / groupSize, outputs]`. */
export async function readZeros(layout: PackedLayout, stored: StoredTensor, outputs: number): Promise<Uint8Array> {
  const words = await readIntegers(stored.file, stored.entry);
  const wordsPerRow = outputs / codesPerWord;
  return Uint8Array.from({ length: words.length * codesPerWord }, (_, index) => {
    const [row, output] = [Math.floor(index / outputs), index % outputs];
    if (layout.kind === 'awq') return awqCode(words, row * wordsPerRow, output);
    const word = words[row * wordsPerRow + (output >> 3)] as number;
    return (((word >>> (4 * (output & 7))) & 15) + layout.zeroOffset) & 15;
  });
}

function awqCode(words: Int32Array, rowStart: number, output: number): number {
  const nibble = awqNibbles[output & 7] as number;
  return ((words[rowStart + (output >> 3)] as number) >>> (4 * nibble)) & 15;
}

/** Inputs in another order than the weights' need their values moved at run time. */
async function refuseReordered(stored: StoredTensor, groupSize: number): Promise<void> {
  const groups = await readIntegers(stored.file, stored.entry);
  const index = groups.findIndex((group, input) => group !== Math.floor(input / groupSize));
  if (index < 0) return;
  throw invalidFile(stored.file.name, `${stored.entry.name} orders inputs by activation, which is not converted`);
}
