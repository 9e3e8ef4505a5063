/** Usual batches of one run, so that a pile that grew while nobody deleted is gone within minutes, and nothing else waits for it. */
const usualBatches = 40;

/** Deletes batch after batch until one is short; resolves to how many rows that were. */
export async function inBatches(
  rows: number,
  deleteSome: (max: number) => Promise<number>,
  maxBatches = usualBatches,
): Promise<number> {
  let count = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const deleted = await deleteSome(rows);
    count += deleted;
    if (deleted < rows) break;
  }
  return count;
}
