/** Cross attention of one head: `[tokens, positions]`, rows sum to 1. */
export interface HeadAttention {
  data: Float32Array;
  /** Positions per row of `data`; more than `positions` if the window ends in silence. */
  stride: number;
}

export interface AttentionRequest {
  heads: readonly HeadAttention[];
  tokens: number;
  /** Positions with audio; the rest of the window is silence. */
  positions: number;
  medianWidth: number;
}

/**
 * Returns attention as evidence of when each token was spoken, `[tokens, positions]`. It covers positions with audio,
 * is normalized over the tokens, smoothed, and averaged over the heads.
 */
export function attentionMatrix({ heads, tokens, positions, medianWidth }: AttentionRequest): Float64Array {
  const matrix = new Float64Array(tokens * positions);
  for (const head of heads) {
    const weights = croppedRows(head, tokens, positions);
    normalizeColumns(weights, tokens, positions);
    for (let token = 0; token < tokens; token++) {
      const row = weights.subarray(token * positions, (token + 1) * positions);
      const smooth = medianFilter(row, medianWidth);
      for (let position = 0; position < positions; position++) {
        const at = token * positions + position;
        matrix[at] = (matrix[at] as number) + (smooth[position] as number) / heads.length;
      }
    }
  }
  return matrix;
}

/** Crops the rows to the audio and makes each sum to 1 again. */
function croppedRows({ data, stride }: HeadAttention, tokens: number, positions: number): Float64Array {
  const rows = new Float64Array(tokens * positions);
  for (let token = 0; token < tokens; token++) {
    let sum = 0;
    for (let position = 0; position < positions; position++) sum += data[token * stride + position] as number;
    for (let position = 0; position < positions; position++) {
      rows[token * positions + position] = (data[token * stride + position] as number) / sum;
    }
  }
  return rows;
}

/** Scales each position to mean 0 and deviation 1 over the tokens. */
function normalizeColumns(rows: Float64Array, tokens: number, positions: number): void {
  for (let position = 0; position < positions; position++) {
    let sum = 0;
    for (let token = 0; token < tokens; token++) sum += rows[token * positions + position] as number;
    const mean = sum / tokens;
    let squares = 0;
    for (let token = 0; token < tokens; token++)
      squares += ((rows[token * positions + position] as number) - mean) ** 2;
    // A position without deviation carries no information.
    const deviation = Math.sqrt(squares / tokens) || 1;
    for (let token = 0; token < tokens; token++) {
      const at = token * positions + position;
      rows[at] = ((rows[at] as number) - mean) / deviation;
    }
  }
}

/** Applies a median filter of odd width, mirrored at both ends. A row no longer than half the width is unchanged. */
export function medianFilter(row: Float64Array, width: number): Float64Array {
  const half = width >> 1;
  if (row.length <= half) return row;
  const window = new Float64Array(width);
  return row.map((_value, center) => {
    for (let offset = -half; offset <= half; offset++) {
      let at = Math.abs(center + offset);
      if (at >= row.length) at = 2 * (row.length - 1) - at;
      insert(window, offset + half, row[at] as number);
    }
    return window[half] as number;
  });
}

/** Inserts a value into the sorted first `count` values of a window; much faster than sorting for each call. */
function insert(window: Float64Array, count: number, value: number): void {
  let at = count;
  for (; at > 0 && (window[at - 1] as number) > value; at--) window[at] = window[at - 1] as number;
  window[at] = value;
}

/**
 * Finds the cheapest path through a cost matrix, from the first row and column to the last (dynamic time warping).
 * Returns the column in which each row begins.
 */
export function rowStarts(costs: Float64Array, rows: number, columns: number): Int32Array {
  const trace = traceOf(costs, rows, columns);
  const starts = new Int32Array(rows);
  const width = columns + 1;
  for (let row = rows, column = columns; row > 0 || column > 0;) {
    if (row > 0) starts[row - 1] = column - 1;
    const step = row === 0 ? 2 : column === 0 ? 1 : trace[row * width + column];
    if (step !== 2) row--;
    if (step !== 1) column--;
  }
  return starts;
}

/** Returns the predecessor of each cell: 0 diagonal, 1 the row before, 2 the column before. */
function traceOf(costs: Float64Array, rows: number, columns: number): Uint8Array {
  const width = columns + 1;
  const trace = new Uint8Array((rows + 1) * width);
  // The reference sums in single precision, which decides ties.
  let before = new Float32Array(width).fill(Infinity);
  before[0] = 0;
  for (let row = 1; row <= rows; row++) {
    const current = new Float32Array(width).fill(Infinity);
    for (let column = 1; column <= columns; column++) {
      const diagonal = before[column - 1] as number;
      const above = before[column] as number;
      const left = current[column - 1] as number;
      let [cost, step] = [left, 2];
      if (diagonal < above && diagonal < left) [cost, step] = [diagonal, 0];
      else if (above < diagonal && above < left) [cost, step] = [above, 1];
      current[column] = (costs[(row - 1) * columns + column - 1] as number) + cost;
      trace[row * width + column] = step;
    }
    before = current;
  }
  return trace;
}
