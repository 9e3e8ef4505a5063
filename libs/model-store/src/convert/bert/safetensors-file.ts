import type { WeightSource } from '../decoder/index.js';
import { InputFile } from '../input-file.js';
import { invalidFile } from '../invalid-file.js';
import { readSafetensorsHeader, type SafetensorsEntry } from '../safetensors/safetensors-header.js';
import { readFloats } from '../safetensors/safetensors-values.js';

/** A `.safetensors` file whose numbers are all read as float32. */
export class SafetensorsFile implements WeightSource {
  private constructor(
    private readonly file: InputFile,
    private readonly tensors: ReadonlyMap<string, SafetensorsEntry>,
  ) {}

  static async open(folder: string, name: string): Promise<SafetensorsFile> {
    const file = await InputFile.open(folder, name);
    try {
      return new SafetensorsFile(file, await readSafetensorsHeader(file));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  has(name: string): boolean {
    return this.tensors.has(name);
  }

  /** Returns the sizes of a tensor. Throws `INVALID_MODEL` if it does not exist. */
  shapeOf(name: string): readonly number[] {
    return this.entry(name).shape;
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const [, columns = 1] = this.shapeOf(name);
    return readFloats(this.file, this.entry(name), from * columns, (to - from) * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    const count = this.shapeOf(name).reduce((product, size) => product * size, 1);
    return readFloats(this.file, this.entry(name), 0, count);
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private entry(name: string): SafetensorsEntry {
    const entry = this.tensors.get(name);
    if (entry === undefined) throw invalidFile(this.file.name, `it has no ${name}`);
    return entry;
  }
}
