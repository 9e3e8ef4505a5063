/** Default number of batches per run: a backlog is deleted within minutes without blocking other work. */
const defaultMaxBatches = 40;

/** Deletes batch after batch until one is short; resolves to the number of deleted rows. */
export async function inBatches(
  rows: number,
  deleteSome: (max: number) => Promise<number>,
  maxBatches = defaultMaxBatches,
): Promise<number> {
  let count = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const deleted = await deleteSome(rows);
    count += deleted;
    if (deleted < rows) break;
  }
  return count;
}
