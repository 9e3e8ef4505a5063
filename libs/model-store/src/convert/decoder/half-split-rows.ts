/** Matrix of queries or keys in a checkpoint, with the two values of a rotary pair side by side. */
export interface InterleavedRows {
  columns: number;
  headSize: number;
  /** Leading dimensions of each head that rotate; default: all. */
  rotated?: number;
  read: (from: number, to: number) => Promise<Float32Array>;
}

/**
 * Returns rows `[from, to)` in the order of the graphs: in each head the first halves of all pairs, then the second,
 * then what does not rotate.
 */
export async function halfSplitRows(rows: InterleavedRows, from: number, to: number): Promise<Float32Array> {
  const { columns, headSize, rotated = headSize, read } = rows;
  const first = Math.floor(from / headSize) * headSize;
  const source = await read(first, Math.ceil(to / headSize) * headSize);
  const result = new Float32Array((to - from) * columns);
  const half = rotated / 2;
  for (let row = from; row < to; row++) {
    const inHead = row % headSize;
    const pair = inHead >= rotated ? inHead : inHead < half ? 2 * inHead : 2 * (inHead - half) + 1;
    const start = (row - inHead + pair - first) * columns;
    result.set(source.subarray(start, start + columns), (row - from) * columns);
  }
  return result;
}
