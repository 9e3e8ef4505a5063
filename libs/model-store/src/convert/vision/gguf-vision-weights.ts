import { joinFloats, productOf } from '#common/values';
import type { SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { CheckedSource } from '../layers/checked-source.js';

/** How the tensors of a projector file are named, by the names of the hubs. */
export interface ProjectorNames {
  /** Modules outside the layers, and parameters without a module. */
  outer: Readonly<Record<string, string>>;
  /** In front of the number of a layer. */
  layers: string;
  /** Modules of a layer. */
  parts: Readonly<Record<string, string>>;
  /** Layers with further features, by their place in the list of these. */
  deepLayers: readonly number[];
}

const kernelModule = 'v.patch_embd';
const deepPrefix = 'visual.deepstack_merger_list';

/**
 * The tensors of a projector file (mmproj) by the names of the hubs. Queries, keys and values may be three tensors instead
 * of one, and the kernel of a video two kernels of images.
 */
export class GgufVisionWeights implements CheckedSource {
  /** Older files name the two layers of a feed-forward the other way around. */
  private readonly isSwapped: boolean;

  constructor(
    readonly fileName: string,
    private readonly tensors: ReadonlyMap<string, SourceTensor>,
    private readonly naming: ProjectorNames,
    hiddenSize: number,
  ) {
    const [inputs, outputs] = tensors.get('v.blk.0.ffn_up.weight')?.dimensions ?? [];
    this.isSwapped = outputs === hiddenSize && inputs !== hiddenSize;
  }

  get names(): Iterable<string> {
    return this.tensors.keys();
  }

  /** Values of the layer inside a feed-forward; 0 if there is none. */
  get feedForwardSize(): number {
    return this.tensors.get('v.blk.0.ffn_up.weight')?.dimensions[this.isSwapped ? 0 : 1] ?? 0;
  }

  /** Number of weights. */
  get parameters(): number {
    const sizes = [...this.tensors.values()].map(({ dimensions }) => dimensions.reduce((all, size) => all * size, 1));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  storedNames(name: string): readonly string[] {
    const { outer } = this.naming;
    if (Object.hasOwn(outer, name)) return [outer[name] ?? name];
    const dot = name.lastIndexOf('.');
    // One parameter of the hubs has no module.
    const [module, end] = name.endsWith('_weight')
      ? [name.slice(0, -'_weight'.length), 'weight']
      : [name.slice(0, dot), name.slice(dot + 1)];
    const stored = `${this.storedModule(module)}.${end}`;
    if (stored === `${kernelModule}.weight` && this.tensors.has(`${stored}.1`)) return [stored, `${stored}.1`];
    if (this.tensors.has(stored) || !stored.includes('.attn_qkv.')) return [stored];
    return ['attn_q', 'attn_k', 'attn_v'].map((part) => stored.replace('attn_qkv', part));
  }

  dimensionsOf(name: string): readonly number[] | undefined {
    const stored = this.storedNames(name).map((each) => this.tensors.get(each)?.dimensions.toReversed());
    const [first] = stored;
    if (first === undefined || stored.includes(undefined)) return undefined;
    const [outputs = 1, channels = 1, ...sides] = first;
    if (stored.length === 1) return first;
    return stored.length === 2 ? [outputs, channels, 2, ...sides] : [stored.length * outputs, ...first.slice(1)];
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const stored = this.storedNames(name).map((each) => this.find(each));
    const [first] = stored;
    if (first === undefined || stored.length === 1) return await outputsOf(first as SourceTensor, from, to);
    if (stored.length === 2) return await alternating(stored, from, to);
    const outputs = first.dimensions.at(-1) ?? 1;
    const pieces = stored.map((tensor, index) =>
      outputsOf(tensor, clamp(from - index * outputs, outputs), clamp(to - index * outputs, outputs)),
    );
    return joinFloats(await Promise.all(pieces));
  }

  async vector(name: string): Promise<Float32Array> {
    return joinFloats(await Promise.all(this.storedNames(name).map((each) => this.find(each).rows(0, 1))));
  }

  private storedModule(module: string): string {
    const { outer, layers, parts, deepLayers } = this.naming;
    const found = Object.hasOwn(outer, module) ? outer[module] : undefined;
    if (found !== undefined) return found;
    const prefix = module.startsWith(deepPrefix) ? deepPrefix : layers;
    const [number = '', ...rest] = module.slice(prefix.length + 1).split('.');
    const part = rest.join('.');
    if (prefix === deepPrefix) return `v.deepstack.${deepLayers[Number(number)]}.${part.replace('linear_', '')}`;
    const stored = Object.hasOwn(parts, part) ? (parts[part] ?? part) : part;
    return `v.blk.${number}.${this.isSwapped ? swapped(stored) : stored}`;
  }

  private find(name: string): SourceTensor {
    const found = this.tensors.get(name);
    if (found === undefined) throw invalidFile(this.fileName, `it has no tensor ${quoted(name)}`);
    return found;
  }
}

function swapped(part: string): string {
  if (part === 'ffn_up') return 'ffn_down';
  return part === 'ffn_down' ? 'ffn_up' : part;
}

function clamp(value: number, most: number): number {
  return Math.min(most, Math.max(0, value));
}

/** Returns outputs `[from, to)` with all their inputs, whatever the dimensions of these. */
async function outputsOf(tensor: SourceTensor, from: number, to: number): Promise<Float32Array> {
  if (from >= to) return new Float32Array(0);
  const rows = productOf(tensor.dimensions.slice(1, -1));
  return await tensor.rows(from * rows, to * rows);
}

/** Returns outputs of two kernels `[outputs, channels, rows, columns]` as `[outputs, channels, 2, rows, columns]`. */
async function alternating(kernels: readonly SourceTensor[], from: number, to: number): Promise<Float32Array> {
  const [width = 1, height = 1] = kernels[0]?.dimensions ?? [];
  const values = await Promise.all(kernels.map((kernel) => outputsOf(kernel, from, to)));
  const planes = (values[0]?.length ?? 0) / (width * height);
  const pieces = Array.from({ length: planes }, (_, plane) =>
    values.map((each) => each.subarray(plane * width * height, (plane + 1) * width * height)),
  );
  return joinFloats(pieces.flat());
}
