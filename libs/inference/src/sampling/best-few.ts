/** Maximum number of candidates kept in one pass. */
export const bestFewSize = 64;

/** Capacity for candidates; no graph returns more. */
export const bestCapacity = 256;

/** Best candidates of one row: highest logit first, ties by lower id. Reused for all rows. */
export interface Candidates {
  readonly ids: Int32Array;
  readonly values: Float64Array;
  count: number;
}

export function newCandidates(size = bestCapacity): Candidates {
  return { ids: new Int32Array(size), values: new Float64Array(size), count: 0 };
}

/** Fills `into` with the best of all logits in one pass. Almost every logit costs one comparison. */
export function keepBest(logits: Float32Array, into: Candidates, size = bestFewSize): Candidates {
  const { ids, values } = into;
  const limit = Math.min(size, values.length);
  let count = 0;
  let threshold = -Infinity;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    if (!(value > threshold)) continue;
    let position = count < limit ? count++ : limit - 1;
    for (; position > 0 && (values[position - 1] as number) < value; position--) {
      values[position] = values[position - 1] as number;
      ids[position] = ids[position - 1] as number;
    }
    values[position] = value;
    ids[position] = id;
    if (count === limit) threshold = values[limit - 1] as number;
  }
  into.count = count;
  return into;
}

/** Takes candidates that the graph has already selected. */
export function takeBest(values: Float32Array, ids: Int32Array, into: Candidates): Candidates {
  const count = Math.min(values.length, into.values.length);
  for (let index = 0; index < count; index++) {
    into.values[index] = values[index] as number;
    into.ids[index] = ids[index] as number;
  }
  into.count = count;
  return into;
}

/** Returns the id of the highest logit, the lowest id of equal ones; −1 if no logit is a number above −∞. */
export function argmax(logits: Float32Array): number {
  let best = -Infinity;
  let bestId = -1;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    if (value > best) {
      best = value;
      bestId = id;
    }
  }
  return bestId;
}
