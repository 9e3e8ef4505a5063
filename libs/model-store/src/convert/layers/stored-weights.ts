import { productOf } from '#common/values';
import { invalidFile, quoted } from '../invalid-file.js';
import { readFloats } from '../safetensors/safetensors-values.js';
import type { StoredTensor } from '../safetensors/safetensors-weights.js';
import type { CheckedSource } from './checked-source.js';

/** A tensor, or the rows of one that holds several. */
export interface StoredRows {
  tensor: StoredTensor;
  from: number;
  rows: number;
}

/** All rows of a tensor. */
export function wholeTensor(tensor: StoredTensor): StoredRows {
  return { tensor, from: 0, rows: tensor.entry.shape[0] ?? 1 };
}

/** Weights in files of tensors, by names that may differ from the stored ones. */
export abstract class StoredWeights implements CheckedSource {
  abstract readonly names: Iterable<string>;

  constructor(
    readonly fileName: string,
    protected readonly tensors: ReadonlyMap<string, StoredRows>,
  ) {}

  abstract storedNames(name: string): readonly string[];

  dimensionsOf(name: string): readonly number[] | undefined {
    const found = this.tensors.get(name);
    return found && [found.rows, ...found.tensor.entry.shape.slice(1)];
  }

  /** Returns the number of weights, but of those that are not needed. */
  countParameters(isUnneeded: (name: string) => boolean = () => false): number {
    const names = [...this.tensors.keys()].filter((name) => !isUnneeded(name));
    return names.reduce((sum, name) => sum + productOf(this.dimensionsOf(name) ?? []), 0);
  }

  /** Kernels of convolutions are rows too: one per output. */
  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const { tensor, from: first } = this.find(name);
    const columns = productOf(tensor.entry.shape.slice(1));
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
