import type { SourceTensor } from '../decoder/decoder-source.js';
import { readFloats } from './safetensors-values.js';
import type { StoredTensor } from './safetensors-weights.js';

/** A matrix or vector of floats, read by rows. */
export class FloatTensor implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };

  /** `change` is applied to every value. */
  constructor(
    private readonly stored: StoredTensor,
    private readonly change?: (value: number) => number,
  ) {
    this.dimensions = storedDimensions(stored.entry.shape).toReversed();
    this.origin = { fileName: stored.file.name, name: stored.entry.name };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const columns = this.dimensions[0] ?? 1;
    const { file, entry } = this.stored;
    const values = await readFloats(file, entry, from * columns, (to - from) * columns);
    return this.change === undefined ? values : values.map(this.change);
  }
}

/** A matrix of one row is a vector, and the kernel of a depthwise convolution, `[channels, 1, length]`, a matrix. */
function storedDimensions(shape: readonly number[]): readonly number[] {
  if (shape.length === 2 && shape[0] === 1) return shape.slice(1);
  return shape.length === 3 && shape[1] === 1 ? [shape[0] ?? 0, shape[2] ?? 0] : shape;
}
