import type { SourceTensor } from '../decoder/decoder-source.js';
import type { PackedMatrix } from '../decoder/packed-layer.js';
import { type PackedLayout, packedSizes, type PackedTensors, readPackedMatrix, readZeros } from './packed-layouts.js';

/** Zero point of codes whose values are symmetric around zero. */
const middleCode = 8;

/** A linear layer in packed 4 bits. */
export class PackedTensor implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };
  packed?: SourceTensor['packed'];
  /** Of the last rows: they are read in order, and only one layer at a time is in memory. */
  private matrix: Promise<PackedMatrix> | null = null;

  constructor(
    private readonly layout: PackedLayout,
    private readonly tensors: PackedTensors,
  ) {
    const { inputs, outputs } = packedSizes(layout, tensors);
    const { file, entry } = tensors.codes;
    this.dimensions = [inputs, outputs];
    this.origin = { fileName: file.name, name: entry.name };
  }

  /** Lets the graph keep codes, scales and zero points. */
  async keepPacked(): Promise<void> {
    const [inputs = 0, outputs = 0] = this.dimensions;
    const zeros = await readZeros(this.layout, this.tensors.zeros, outputs);
    this.packed = {
      groupSize: this.layout.groupSize ?? inputs,
      isSymmetric: zeros.every((zero) => zero === middleCode),
      read: () => readPackedMatrix(this.layout, this.tensors),
    };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const matrix = await (this.matrix ??= readPackedMatrix(this.layout, this.tensors));
    const { inputs, outputs, groupSize, scales, zeros } = matrix;
    const codes = matrix.codes(from, to);
    const values = new Float32Array(codes.length);
    for (let index = 0; index < codes.length; index++) {
      const group = Math.floor((index % inputs) / groupSize) * outputs + from + Math.floor(index / inputs);
      values[index] = ((codes[index] as number) - (zeros[group] as number)) * (scales[group] as number);
    }
    if (to === outputs) this.matrix = null;
    return values;
  }
}
