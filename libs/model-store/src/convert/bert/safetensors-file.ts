import { productOf } from '#common/values';
import type { WeightSource } from '../decoder/index.js';
import { invalidFile } from '../invalid-file.js';
import type { ModelFiles } from '../safetensors/model-files.js';
import { readFloats } from '../safetensors/safetensors-values.js';
import { SafetensorsWeights, type StoredTensor } from '../safetensors/safetensors-weights.js';

/** The weights of a folder, in one `.safetensors` file or in shards; their numbers are all read as float32. */
export class SafetensorsFile implements WeightSource {
  private constructor(private readonly weights: SafetensorsWeights) {}

  static async open(files: ModelFiles): Promise<SafetensorsFile> {
    return new SafetensorsFile(await SafetensorsWeights.open(files));
  }

  has(name: string): boolean {
    return this.weights.tensors.has(name);
  }

  /** Returns the sizes of a tensor. Throws `INVALID_MODEL` if it does not exist. */
  shapeOf(name: string): readonly number[] {
    return this.find(name).entry.shape;
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const { file, entry } = this.find(name);
    const [, columns = 1] = entry.shape;
    return readFloats(file, entry, from * columns, (to - from) * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    const { file, entry } = this.find(name);
    const count = productOf(entry.shape);
    return readFloats(file, entry, 0, count);
  }

  async close(): Promise<void> {
    await this.weights.close();
  }

  private find(name: string): StoredTensor {
    const found = this.weights.tensors.get(name);
    if (found === undefined) throw invalidFile('model.safetensors', `it has no ${name}`);
    return found;
  }
}
