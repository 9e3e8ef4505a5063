import { invalidFile } from '../invalid-file.js';
import type { HubConfig } from './hub-config.js';
import { type PackedLayout, smallestGroup } from './packed-layouts.js';

/** What a configuration says about weights that are no plain floats. */
export interface Quantization {
  /** Integers in words; null: none. Their groups are those of each layer where it is `compressed`. */
  packed: PackedLayout | null;
  /** Rows and columns that share a scale of 8-bit floats, where a layer has several in both directions. */
  block: readonly [rows: number, columns: number];
}

const defaultBlock = [128, 128] as const;
/** Methods whose layers say by their tensors what they are. */
const floatMethods: ReadonlySet<string> = new Set(['fp8', 'fbgemm_fp8', 'modelopt', 'modelopt_fp4', 'modelopt_mixed']);

/**
 * Reads `quantization_config`; null without one. Throws `INVALID_MODEL` that names what is not supported and what would
 * run instead. The experts of gpt-oss in MXFP4 are no packed layers.
 */
export function readQuantization(config: HubConfig, { takesMxfp4 = false } = {}): Quantization | null {
  const settings = config.object('quantization_config') ?? config.object('compression_config');
  if (settings === null) return null;
  const kind = settings.text('quant_method', settings.has('config_groups') ? 'compressed-tensors' : 'unknown');
  if (kind === 'mxfp4' && takesMxfp4) return null;
  if (floatMethods.has(kind)) return { packed: null, block: blockOf(settings, 'weight_block_size') };
  if (kind === 'compressed-tensors') return readCompressed(settings);
  if (kind !== 'awq' && kind !== 'gptq') throw notConverted(`its quantization ${kind.slice(0, 40)}`);
  return { packed: readPacked(kind, settings), block: defaultBlock };
}

function notConverted(what: string): Error {
  return invalidFile(
    'config.json',
    `${what} is not converted; the model in bf16 or fp16, its GGUF file, AWQ or GPTQ are`,
  );
}

function readPacked(kind: 'awq' | 'gptq', settings: HubConfig): PackedLayout {
  const bits = settings.number('bits', settings.number('w_bit', 4));
  if (bits !== 4 && (bits !== 8 || kind === 'awq')) throw notConverted(`its ${kind} quantization of ${bits} bits`);
  const groupSize = groupSizeOf(settings);
  if (groupSize !== null && (groupSize < smallestGroup || groupSize % smallestGroup !== 0))
    throw notConverted(`its ${kind} group size ${groupSize}`);
  if (kind === 'awq') {
    const version = settings.text('version', 'gemm').toLowerCase();
    if (version !== 'gemm') throw notConverted(`its awq layout ${version.slice(0, 40)}`);
    return { kind, bits, groupSize, zeroOffset: 0, isReordered: false, isSymmetric: false };
  }
  const isFirst = settings.text('checkpoint_format', 'gptq') === 'gptq';
  return {
    kind,
    bits,
    groupSize,
    zeroOffset: isFirst ? 1 : 0,
    isReordered: settings.flag('desc_act', false),
    isSymmetric: settings.flag('sym', true),
  };
}

function groupSizeOf(settings: HubConfig): number | null {
  const size = settings.number('group_size', settings.number('q_group_size', 128));
  return size === -1 ? null : size;
}

function blockOf(settings: HubConfig | null, name: string): Quantization['block'] {
  if (!settings?.has(name)) return defaultBlock;
  const [rows = 0, columns = 0, ...more] = settings.numbers(name);
  const areSizes = [rows, columns].every((size) => Number.isSafeInteger(size) && size >= 1);
  if (areSizes && more.length === 0) return [rows, columns];
  throw invalidFile(
    'config.json',
    `its ${name} is ${JSON.stringify(settings.values[name]).slice(0, 60)}, not two sizes`,
  );
}

/** Layers say by their tensors what they are, but for the bits of packed integers. */
function readCompressed(settings: HubConfig): Quantization {
  const sparsity = settings.object('sparsity_config')?.text('format', 'dense') ?? 'dense';
  if (sparsity !== 'dense') throw notConverted(`its sparsity ${sparsity.slice(0, 40)}`);
  const rotations = settings.object('transform_config')?.object('config_groups')?.values ?? {};
  if (Object.keys(rotations).length > 0)
    throw notConverted('its quantization with rotated activations (transform_config)');
  const groups = settings.object('config_groups');
  const weights = Object.keys(groups?.values ?? {}).flatMap((name) => groups?.object(name)?.object('weights') ?? []);
  const integers = weights.filter((each) => each.text('type', 'int') === 'int').map((each) => each.number('num_bits'));
  const [bits = 4, ...others] = new Set(integers);
  if ((bits !== 4 && bits !== 8) || others.length > 0) {
    throw notConverted(`its compressed-tensors quantization of ${[bits, ...others].join(' and ')} bits`);
  }
  const structured = weights.find((each) => each.has('block_structure')) ?? null;
  return {
    packed: { kind: 'compressed', bits, groupSize: null, zeroOffset: 0, isReordered: false, isSymmetric: true },
    block: blockOf(structured, 'block_structure'),
  };
}
