/** Rows of a tensor that stand in equal groups, such as queries, keys, values and gates of one head after another. */
export interface RowGroups {
  groups: number;
  /** Rows of one group. */
  rows: number;
  /** Pieces of each group that the weight has: the first piece of all groups, then the second of all. */
  pieces: readonly { from: number; rows: number }[];
}

/** Reads rows `[from, to)` of the weight, each of `columns` values. */
export async function groupedRows(
  { groups, rows, pieces }: RowGroups,
  { columns, read }: { columns: number; read: (from: number, to: number) => Promise<Float32Array> },
  [from, to]: readonly [number, number],
): Promise<Float32Array> {
  const result = new Float32Array((to - from) * columns);
  let start = 0;
  for (const piece of pieces) {
    for (let group = 0; group < groups; group++, start += piece.rows) {
      const [first, last] = [Math.max(from, start), Math.min(to, start + piece.rows)];
      if (first >= last) continue;
      const stored = group * rows + piece.from - start;
      result.set(await read(stored + first, stored + last), (first - from) * columns);
    }
  }
  return result;
}
