/**
 * What a run says about the next token of each row: either the best few logits, or all of them. Rows are in the
 * order in which they were asked for; `rowIndexes[i]` is where row i stands in the arrays.
 */
export interface LogitsBatch {
  readonly rowIndexes: Int32Array;
  /** Best logits first, `topSize` per row, equal ones by lower id; null when not fetched. */
  readonly topValues: Float32Array | null;
  readonly topIds: Int32Array | null;
  readonly topSize: number;
  /** ln of the sum of exp over the vocabulary, per row; null when the graph does not give it. */
  readonly logSumExp: Float32Array | null;
  /** `vocabularySize` per row; null when not fetched. */
  readonly logits: Float32Array | null;
  readonly vocabularySize: number;
}
