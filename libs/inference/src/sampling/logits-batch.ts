/**
 * Logits of a run for the next token of each row: the top candidates, or all of them. Rows are in request order;
 * `rowIndexes[i]` is the position of row i in the arrays.
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
}
