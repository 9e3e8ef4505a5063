import { invalidFile, quoted } from '../invalid-file.js';
import { readFloats } from '../safetensors/safetensors-values.js';
import type { StoredTensor } from '../safetensors/safetensors-weights.js';
import type { CheckedSource } from '../layers/checked-source.js';

const layerPattern = /^(encoder|decoder)\.layers\.(\d{1,4})\./;

/** A tensor, or the rows of one that holds several. */
export interface StoredRows {
  tensor: StoredTensor;
  from: number;
  rows: number;
}

/** The weights of Whisper by the names of the hubs without a leading `model.`. */
export class WhisperWeights implements CheckedSource {
  readonly names: readonly string[];
  private readonly stored = new Map<string, string[]>();

  constructor(
    readonly fileName: string,
    private readonly tensors: ReadonlyMap<string, StoredRows>,
  ) {
    for (const [name, { tensor }] of tensors) this.stored.set(name, [tensor.entry.name]);
    this.names = [...new Set([...tensors.values()].map(({ tensor }) => tensor.entry.name))];
  }

  storedNames(name: string): readonly string[] {
    return this.stored.get(name) ?? [name];
  }

  dimensionsOf(name: string): readonly number[] | undefined {
    const found = this.tensors.get(name);
    return found && [found.rows, ...found.tensor.entry.shape.slice(1)];
  }

  /** Number of weights. */
  get parameters(): number {
    const sizes = [...this.tensors.keys()].map((name) => this.dimensionsOf(name) ?? []);
    return sizes.reduce((sum, shape) => sum + shape.reduce((product, size) => product * size, 1), 0);
  }

  /** Number of the layers of a part. */
  layersOf(part: 'encoder' | 'decoder'): number {
    const found = [...this.tensors.keys()].map((name) => layerPattern.exec(name));
    return new Set(found.filter((match) => match?.[1] === part).map((match) => match?.[2])).size;
  }

  /** Kernels of convolutions are rows too: one per output. */
  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const { tensor, from: first } = this.find(name);
    const columns = tensor.entry.shape.slice(1).reduce((product, size) => product * size, 1);
    return await readFloats(tensor.file, tensor.entry, (first + from) * columns, (to - from) * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    return await this.rows(name, 0, this.find(name).rows);
  }

  private find(name: string): StoredRows {
    const found = this.tensors.get(name);
    if (found === undefined) throw invalidFile(this.fileName, `it has no tensor ${quoted(name)}`);
    return found;
  }
}

/** All rows of a tensor. */
export function wholeTensor(tensor: StoredTensor): StoredRows {
  return { tensor, from: 0, rows: tensor.entry.shape[0] ?? 1 };
}
