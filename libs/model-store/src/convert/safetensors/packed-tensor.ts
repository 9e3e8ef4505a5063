import type { KeptBlocks, SourceTensor } from '../decoder/decoder-source.js';
import type { PackedMatrix } from '../decoder/packed-layer.js';
import {
  middleCode,
  type PackedLayout,
  packedSizes,
  type PackedTensors,
  readGroups,
  readPackedMatrix,
  readZeros,
} from './packed-layouts.js';

/** Blocks of the kernels, of which one or more make a group. */
const blockSizes = [128, 64, 32] as const;

/** A linear layer in packed integers of 4 or 8 bits. */
export class PackedTensor implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };
  packed?: SourceTensor['packed'];
  keptBlocks?: KeptBlocks;
  /** Of the last rows: they are read in order, and only one layer at a time is in memory. */
  private matrix: Promise<PackedMatrix> | null = null;
  private groups: Promise<Int32Array | null> | null = null;

  constructor(
    private readonly layout: PackedLayout,
    private readonly tensors: PackedTensors,
  ) {
    const { inputs, outputs } = packedSizes(layout, tensors);
    const { file, entry } = tensors.codes;
    this.dimensions = [inputs, outputs];
    this.origin = { fileName: file.name, name: entry.name };
  }

  /** What the graph keeps of its codes, as far as the headers tell. */
  get keeps(): 'packed' | 'blocks' | null {
    const { bits, isReordered, isSymmetric } = this.layout;
    if (isReordered) return null;
    if (bits === 4) return 'packed';
    return isSymmetric ? 'blocks' : null;
  }

  /**
   * Lets the graph keep codes, scales and zero points. It cannot where groups are in the order of activations, or where 8
   * bits are not symmetric.
   */
  async keepPacked(): Promise<void> {
    const { inputs, groupSize } = this;
    const outputs = this.dimensions[1] ?? 0;
    if ((await this.readGroups()) !== null) return;
    const zeros = await readZeros(this.layout, this.tensors, { groups: inputs / groupSize, outputs });
    const isSymmetric = zeros.every((zero) => zero === middleCode(this.layout));
    if (this.layout.bits === 4) {
      this.packed = { groupSize, isSymmetric, read: () => readPackedMatrix(this.layout, this.tensors) };
      return;
    }
    const size = blockSizes.find((each) => groupSize % each === 0);
    if (isSymmetric && size) this.keptBlocks = { size, rows: (from, to) => this.blockRows(size, from, to) };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const [{ inputs, outputs, groupSize, scales, zeros, codes: codesOf }, groups] = await Promise.all([
      this.readMatrix(),
      this.readGroups(),
    ]);
    const codes = codesOf(from, to);
    const values = new Float32Array(codes.length);
    for (let index = 0; index < codes.length; index++) {
      const input = index % inputs;
      const group = (groups?.[input] ?? Math.floor(input / groupSize)) * outputs + from + Math.floor(index / inputs);
      values[index] = ((codes[index] as number) - (zeros[group] as number)) * (scales[group] as number);
    }
    this.forget(to);
    return values;
  }

  private async blockRows(size: number, from: number, to: number): Promise<Float32Array> {
    const { inputs, outputs, groupSize, scales, codes: codesOf } = await this.readMatrix();
    const [codes, middle, blocks] = [codesOf(from, to), middleCode(this.layout), inputs / size];
    const length = inputs + blocks;
    const result = new Float32Array((to - from) * length);
    for (let row = 0; row < to - from; row++) {
      for (let input = 0; input < inputs; input++) {
        result[row * length + input] = (codes[row * inputs + input] as number) - middle;
      }
      for (let block = 0; block < blocks; block++) {
        const group = Math.floor((block * size) / groupSize);
        result[row * length + inputs + block] = scales[group * outputs + from + row] as number;
      }
    }
    this.forget(to);
    return result;
  }

  private get inputs(): number {
    return this.dimensions[0] ?? 0;
  }

  private get groupSize(): number {
    return this.layout.groupSize ?? this.inputs;
  }

  private readMatrix(): Promise<PackedMatrix> {
    return (this.matrix ??= readPackedMatrix(this.layout, this.tensors));
  }

  private readGroups(): Promise<Int32Array | null> {
    return (this.groups ??= readGroups(this.tensors, { inputs: this.inputs, groupSize: this.groupSize }));
  }

  private forget(to: number): void {
    if (to === this.dimensions[1]) this.matrix = null;
  }
}
