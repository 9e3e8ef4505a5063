import type { SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile } from '../invalid-file.js';

/** The same matrix of all experts, one after another. */
export class ExpertTensor implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: SourceTensor['origin'];
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
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const [columns = 0] = this.dimensions;
    const result = new Float32Array((to - from) * columns);
    for (let row = from; row < to;) {
      const expert = Math.floor(row / this.rowsEach);
      const start = expert * this.rowsEach;
      const end = Math.min(to, start + this.rowsEach);
      const values = await this.experts[expert]?.rows(row - start, end - start);
      if (values) result.set(values, (row - from) * columns);
      row = end;
    }
    return result;
  }
}
