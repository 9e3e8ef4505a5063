import type { SourceTensor } from '../decoder/decoder-source.js';

/** A tensor whose rows are multiplied: by one factor, or by that of the part that a row is in, in the order of the parts. */
export type RowFactors = number | readonly { rows: number; factor: number }[];

/** Returns the tensor with its rows multiplied. Codes of packed weights are not kept. */
export function scaledTensor(tensor: SourceTensor, factors: RowFactors): SourceTensor {
  const { dimensions, origin } = tensor;
  const rows = async (from: number, to: number): Promise<Float32Array> => {
    const values = await tensor.rows(from, to);
    const columns = values.length / (to - from);
    return values.map((value, index) => value * factorOf(factors, from + Math.floor(index / columns)));
  };
  return { dimensions, rows, ...(origin && { origin }) };
}

function factorOf(factors: RowFactors, row: number): number {
  if (typeof factors === 'number') return factors;
  let end = 0;
  return factors.find(({ rows }) => row < (end += rows))?.factor ?? 1;
}
