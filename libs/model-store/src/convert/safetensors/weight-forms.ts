import type { SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile } from '../invalid-file.js';
import { CodedTensor } from './coded-tensor.js';
import { PackedTensor } from './packed-tensor.js';
import type { Quantization } from './quantization.js';
import type { SafetensorsEntry } from './safetensors-header.js';
import type { StoredTensor } from './safetensors-weights.js';

/** Tensors beside codes that say nothing about weights: scales of activations and of a cache in 8 bits. */
export const activationTensors =
  /\.(?:input_scale|input_global_scale|input_zero_point|activation_scale|output_scale|[qkv]_scale|kv_scale|input_scale_ub|weight_shape)$/;

/** Tensors that describe codes, and are no weights themselves. */
const describing =
  /\.(?:weight_scale(?:_inv|_2)?|weight_global_scale|weight_zero_point|weight_g_idx|g_idx|qzeros|scales)$|_scales$/;

/** The tensors of a checkpoint, each of which is asked for once. */
export interface TensorTaker {
  take(name: string): StoredTensor | undefined;
  require(name: string): StoredTensor;
  typeOf(name: string): string | undefined;
}

/** Returns a weight that is no matrix of plain floats, as its tensors say; null for plain floats. */
export function findCodedWeight(
  tensors: TensorTaker,
  module: string,
  { packed, block }: Quantization,
): SourceTensor | null {
  const nameOf = (part: string) => `${module}.${part}`;
  const take = (part: string) => tensors.take(nameOf(part));
  const needed = (part: string) => tensors.require(nameOf(part));
  if (packed && packed.kind !== 'compressed') {
    const codes = take('qweight');
    if (!codes) return null;
    return new PackedTensor(packed, {
      codes,
      zeros: needed('qzeros'),
      scales: needed('scales'),
      groups: take('g_idx'),
    });
  }
  const words = take('weight_packed');
  if (words?.entry.dtype === 'I32' && packed) {
    const scales = needed('weight_scale');
    const inputs = (words.entry.shape[1] ?? 0) * (32 / packed.bits);
    const groups = scales.entry.shape[1] ?? 1;
    const [zeros, order] = [take('weight_zero_point'), take('weight_g_idx')];
    const groupSize = groupSizeOf(scales, inputs, groups);
    const layout = { ...packed, groupSize, isReordered: order !== undefined, isSymmetric: zeros === undefined };
    return new PackedTensor(layout, { codes: words, zeros, scales, groups: order });
  }
  if (words) {
    const whole = take('weight_global_scale');
    const scales = exponents(needed('weight_scale'));
    return new CodedTensor({
      codes: words,
      kind: 'float4',
      scales,
      block,
      ...(whole && { whole: { stored: whole, divides: true } }),
    });
  }
  const type = tensors.typeOf(nameOf('weight'));
  if (type === 'U8') {
    const [codes, scales, stored] = [needed('weight'), exponents(needed('weight_scale')), take('weight_scale_2')];
    return new CodedTensor({
      codes,
      kind: 'float4',
      scales,
      block,
      ...(stored && { whole: { stored, divides: false } }),
    });
  }
  if (type === 'I8') {
    const [codes, scales, zeros] = [needed('weight'), needed('weight_scale'), take('weight_zero_point')];
    return new CodedTensor({ codes, kind: 'int8', scales, zeros, block });
  }
  if (type !== 'F8_E4M3') return null;
  const scales = exponents(take('weight_scale_inv') ?? needed('weight_scale'));
  return new CodedTensor({ codes: needed('weight'), kind: 'float8', scales, block });
}

/** Groups of the kernels are whole blocks; a scale per row is one group. */
function groupSizeOf({ file, entry }: StoredTensor, inputs: number, groups: number): number | null {
  if (groups === 1) return null;
  const size = inputs / groups;
  if (Number.isInteger(size) && size % 32 === 0) return size;
  throw invalidFile(file.name, `${entry.name} has ${groups} groups of ${inputs} inputs, which are not converted`);
}

/** Exponents of powers of two are stored as plain bytes. */
function exponents(stored: StoredTensor): StoredTensor {
  if (stored.entry.dtype !== 'U8') return stored;
  return { ...stored, entry: { ...stored.entry, dtype: 'F8_E8M0' } };
}

/** Returns the name of the form of a stored tensor; null if it is no weight. */
export function weightForm({ name, dtype }: SafetensorsEntry, quantization: Quantization | null): string | null {
  if (describing.test(name) || activationTensors.test(name)) return null;
  const packed = quantization?.packed;
  if (name.endsWith('.qweight')) return `${packed?.kind.toUpperCase() ?? 'packed'} ${packed?.bits ?? 4}-bit`;
  if (name.endsWith('_blocks') && dtype === 'U8') return 'MXFP4';
  if (name.endsWith('.weight_packed')) return dtype === 'I32' ? `${packed?.bits ?? 4}-bit` : 'FP4';
  const forms: Readonly<Record<string, string>> = {
    U8: 'FP4',
    I8: '8-bit',
    F8_E4M3: 'FP8',
    F32: 'F32',
    F16: 'F16',
    BF16: 'BF16',
  };
  return forms[dtype] ?? null;
}
