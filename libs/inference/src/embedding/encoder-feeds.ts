import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { EncoderInput } from './encoder-graph.js';

/** Tokens of one row of a batch. */
export interface EncoderRow {
  ids: Int32Array;
  /** Token types; absent: all 0. */
  types?: Int32Array;
}

export interface EncoderBatch {
  rows: readonly EncoderRow[];
  /** Id that fills up short rows. */
  padId: number;
}

/** Builds the inputs of one run, padded at the end to the longest row. */
export function encoderFeeds(
  session: GraphSession,
  inputs: readonly EncoderInput[],
  { rows, padId }: EncoderBatch,
): { feeds: Record<string, GraphTensor>; longest: number } {
  const longest = rows.reduce((max, { ids }) => Math.max(max, ids.length), 1);
  const feed = ({ kind, type }: EncoderInput): GraphTensor => {
    const cells = new Int32Array(rows.length * longest).fill(kind === 'ids' ? padId : 0);
    for (const [index, { ids, types }] of rows.entries()) {
      const start = index * longest;
      if (kind === 'ids') cells.set(ids, start);
      else if (kind === 'mask') cells.fill(1, start, start + ids.length);
      else if (kind === 'types' && types !== undefined) cells.set(types, start);
      else if (kind === 'positions') for (let token = 0; token < longest; token++) cells[start + token] = token;
    }
    const data = type === 'int64' ? BigInt64Array.from(cells, BigInt) : cells;
    return session.tensor(type, data, [rows.length, longest]);
  };
  return { feeds: Object.fromEntries(inputs.map((input) => [input.name, feed(input)])), longest };
}
