import type { KeptBlocks, SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile } from '../invalid-file.js';
import { readFloats } from './safetensors-values.js';
import type { StoredTensor } from './safetensors-weights.js';

/** The same matrix of all experts, one after another. */
export class ExpertTensor implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: SourceTensor['origin'];
  readonly keptBlocks?: KeptBlocks;
  private readonly rowsEach: number;

  constructor(private readonly experts: readonly SourceTensor[]) {
    const [first] = experts;
    const [columns = 0, rows = 0] = first?.dimensions ?? [];
    const other = experts.find(({ dimensions }) => dimensions.join() !== first?.dimensions.join());
    if (other)
      throw invalidFile(other.origin?.fileName ?? '', `its ${other.origin?.name} is not as large as the others`);
    this.dimensions = [columns, rows, experts.length];
    this.origin = first?.origin;
    this.rowsEach = rows;
    const size = first?.keptBlocks?.size;
    if (size === undefined || experts.some(({ keptBlocks }) => keptBlocks?.size !== size)) return;
    const length = columns + columns / size;
    this.keptBlocks = { size, rows: (from, to) => this.joined(from, to, length, (expert) => expert?.keptBlocks) };
  }

  rows(from: number, to: number): Promise<Float32Array> {
    return this.joined(from, to, this.dimensions[0] ?? 0, (expert) => expert);
  }

  private async joined(
    from: number,
    to: number,
    columns: number,
    sourceOf: (expert?: SourceTensor) => Pick<SourceTensor, 'rows'> | undefined,
  ): Promise<Float32Array> {
    const result = new Float32Array((to - from) * columns);
    for (let row = from; row < to;) {
      const expert = Math.floor(row / this.rowsEach);
      const start = expert * this.rowsEach;
      const end = Math.min(to, start + this.rowsEach);
      const values = await sourceOf(this.experts[expert])?.rows(row - start, end - start);
      if (values) result.set(values, (row - from) * columns);
      row = end;
    }
    return result;
  }
}

/** Floats of all experts in one tensor, `[experts, outputs, inputs]`: `rows` outputs of each from `first` on. */
export class SlicedExperts implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };

  constructor(
    private readonly stored: StoredTensor,
    private readonly part: { first: number; rows: number },
  ) {
    const [experts = 0, , inputs = 0] = stored.entry.shape;
    this.dimensions = [inputs, part.rows, experts];
    this.origin = { fileName: stored.file.name, name: stored.entry.name };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const { file, entry } = this.stored;
    const [, outputs = 0, inputs = 0] = entry.shape;
    const { first, rows } = this.part;
    const result = new Float32Array((to - from) * inputs);
    for (let row = from; row < to;) {
      const expert = Math.floor(row / rows);
      const end = Math.min(to, (expert + 1) * rows);
      const start = expert * outputs + first + (row - expert * rows);
      result.set(await readFloats(file, entry, start * inputs, (end - row) * inputs), (row - from) * inputs);
      row = end;
    }
    return result;
  }
}
