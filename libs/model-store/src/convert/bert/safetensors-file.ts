import { InputFile } from '../input-file.js';
import { invalidFile } from '../invalid-file.js';
import { decodeFloat16 } from '#common';
import type { WeightSource } from '../decoder/index.js';

interface TensorEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

const bytesOf: Record<string, number> = { F32: 4, F16: 2, BF16: 2 };

/** Maximum header size; the tensor list of a very large model is some hundred kilobytes. */
const maxHeaderBytes = 16 * 1024 * 1024;

/** A `.safetensors` file: a JSON list of tensors, then their bytes. All numbers are read as float32. */
export class SafetensorsFile implements WeightSource {
  private constructor(
    private readonly file: InputFile,
    private readonly tensors: ReadonlyMap<string, TensorEntry>,
    private readonly dataStart: number,
  ) {}

  static async open(folder: string, name: string): Promise<SafetensorsFile> {
    const file = await InputFile.open(folder, name);
    try {
      const length = Number(new DataView((await file.read(0, 8)).buffer).getBigUint64(0, true));
      if (length > Math.min(maxHeaderBytes, file.bytes - 8))
        throw invalidFile(name, 'its list of tensors is cut short');
      const header = parseHeader(name, Buffer.from(await file.read(8, length)).toString('utf8'));
      return new SafetensorsFile(file, header, 8 + length);
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
    return this.floats(name, from * columns, (to - from) * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    return this.floats(
      name,
      0,
      this.shapeOf(name).reduce((product, size) => product * size, 1),
    );
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private async floats(name: string, first: number, count: number): Promise<Float32Array> {
    const { dtype, data_offsets: offsets } = this.entry(name);
    const size = bytesOf[dtype];
    if (size === undefined) throw invalidFile(this.file.name, `${name} is of type ${dtype}`);
    if (offsets[0] + (first + count) * size > offsets[1]) throw invalidFile(this.file.name, `${name} is cut short`);
    const bytes = await this.file.read(this.dataStart + offsets[0] + first * size, count * size);
    if (dtype === 'F32') return new Float32Array(bytes.buffer);
    const halves = new Uint16Array(bytes.buffer);
    if (dtype === 'F16') return Float32Array.from(halves, decodeFloat16);
    // A bfloat16 is the upper half of a float32.
    return new Float32Array(Uint32Array.from(halves, (bits) => bits << 16).buffer);
  }

  private entry(name: string): TensorEntry {
    const entry = this.tensors.get(name);
    if (entry === undefined) throw invalidFile(this.file.name, `it has no ${name}`);
    return entry;
  }
}

function parseHeader(name: string, text: string): Map<string, TensorEntry> {
  try {
    const header = JSON.parse(text) as Record<string, TensorEntry>;
    return new Map(Object.entries(header).filter(([key]) => key !== '__metadata__'));
  } catch {
    throw invalidFile(name, 'its list of tensors is not JSON');
  }
}
