import type { LogitsBatch } from '../sampling/logits-batch.js';
import type { Decoder } from '../scheduler/decoder.js';

export interface WindowSizes {
  /** Tokens per window, and how many of them are only context. */
  window: number;
  warmup: number;
  /** Windows decoded in parallel. */
  rows: number;
}

/**
 * Consecutive windows of a text, as many as it has whole; each starts with the text's first token (BOS if there is one).
 * Two models with one tokenizer get the same windows.
 */
export function cutWindows(tokens: Int32Array, { window }: Pick<WindowSizes, 'window'>): Int32Array[] {
  const step = window - 1;
  const count = Math.max(0, Math.floor((tokens.length - 1) / step));
  return Array.from({ length: count }, (_, index) => {
    const start = 1 + index * step;
    return Int32Array.of(tokens[0] ?? 0, ...tokens.subarray(start, start + step));
  });
}

/**
 * The negative natural-log probability of each token behind the context of its window, teacher-forced through the
 * engine's own decoder. Their mean is the logarithm of the perplexity. The order depends on the sizes alone, so that the
 * losses of two models can be compared token by token.
 */
export async function tokenLosses(
  decoder: Decoder,
  windows: readonly Int32Array[],
  sizes: WindowSizes,
): Promise<Float64Array> {
  const losses: number[] = [];
  for (let first = 0; first < windows.length; first += sizes.rows) {
    losses.push(...(await lossesOfBatch(decoder, windows.slice(first, first + sizes.rows), sizes)));
  }
  return Float64Array.from(losses);
}

async function lossesOfBatch(
  decoder: Decoder,
  windows: readonly Int32Array[],
  { window, warmup }: WindowSizes,
): Promise<number[]> {
  const losses: number[] = [];
  const rows = windows.map(() => decoder.openRow());
  const score = (batch: LogitsBatch, position: number, first: number) => {
    batch.rowIndexes.forEach((_, index) => {
      losses.push(lossOf(batch, index, windows[first + index]?.[position] ?? 0));
    });
  };
  for (const [index, row] of rows.entries()) {
    const tokenIds = (windows[index] ?? new Int32Array()).slice(0, warmup);
    score(await decoder.prefill([{ row, tokenIds, final: true }], 'full'), warmup, index);
  }
  for (let position = warmup; position + 1 < window; position++) {
    const parts = rows.map((row, index) => ({ row, tokenId: windows[index]?.[position] ?? 0 }));
    score(await decoder.decode(parts, 'full'), position + 1, 0);
  }
  // Last row first: releasing it moves no other row.
  for (const row of rows.reverse()) decoder.release(row);
  return losses;
}

function lossOf(batch: LogitsBatch, index: number, target: number): number {
  const { logits, vocabularySize, rowIndexes } = batch;
  if (!logits) throw new Error('The decoder returned no logits.');
  const start = (rowIndexes[index] ?? 0) * vocabularySize;
  const row = logits.subarray(start, start + vocabularySize);
  let largest = -Infinity;
  for (const value of row) if (value > largest) largest = value;
  let sum = 0;
  for (const value of row) sum += Math.exp(value - largest);
  return largest + Math.log(sum) - (row[target] ?? NaN);
}
