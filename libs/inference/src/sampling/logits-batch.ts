/**
 * Logits of a run for the next token of each row: the top candidates, or all of them. Rows are in request order;
 * `rowIndexes[i]` is the position of row i in the arrays. Valid until the decoder's next call.
 */
export interface LogitsBatch {
  readonly rowIndexes: Int32Array;
  /** Highest logits first, `topSize` per row, ties by lower id; null if not fetched. */
  readonly topValues: Float32Array | null;
  readonly topIds: Int32Array | null;
  readonly topSize: number;
  /** ln of the sum of exp over the vocabulary, per row; null if the graph does not return it. */
  readonly logSumExp: Float32Array | null;
  /** `vocabularySize` per row; null if not fetched. */
  readonly logits: Float32Array | null;
  readonly vocabularySize: number;
  /** Logits of the tokens that each row asked for, in its order, `wantedSize` per row; absent or null: none. */
  readonly wanted?: Float32Array | null;
  readonly wantedSize?: number;
}

/** Returns the row's view of all logits, not a copy; null if they were not fetched. */
export function rowLogits(batch: LogitsBatch, row: number): Float32Array | null {
  if (!batch.logits) return null;
  return batch.logits.subarray(row * batch.vocabularySize, (row + 1) * batch.vocabularySize);
}

/**
 * Copies the logits of some tokens of a row: those that the row asked for, by their order, or out of all logits. Returns
 * null if the batch has neither.
 */
export function logitsOfTokens(batch: LogitsBatch, row: number, ids: ArrayLike<number>): Float32Array | null {
  const all = rowLogits(batch, row);
  if (all !== null) return Float32Array.from(ids, (id) => all[id] ?? -Infinity);
  const { wanted, wantedSize = 0 } = batch;
  if (!wanted || wantedSize < ids.length) return null;
  return wanted.slice(row * wantedSize, row * wantedSize + ids.length);
}
