import type { WeightSource } from './weight-source.js';

export interface LinearLayer {
  /** Name of the weight in the source and of the tensor in the graph. */
  name: string;
  inputs: number;
  outputs: number;
}

/** Approximate number of values per read, which bounds the memory of a conversion. */
const pieceValues = 1 << 21;

/** Yields the rows of a layer's weight, `[outputs, inputs]`, in order. */
export async function* rowPieces(
  weights: WeightSource,
  layer: LinearLayer,
  read = (from: number, to: number) => weights.rows(layer.name, from, to),
): AsyncGenerator<{ from: number; values: Float32Array }> {
  const step = Math.max(1, Math.floor(pieceValues / layer.inputs));
  for (let from = 0; from < layer.outputs; from += step) {
    const values = await read(from, Math.min(layer.outputs, from + step));
    yield { from, values };
  }
}

/**
 * Yields the ranges of inputs whose columns are transposed together, each of at most `maxValues` values. The rows of a
 * matrix with several of them are read once per range.
 */
export function* inputBands(
  { inputs, outputs }: LinearLayer,
  maxValues: number,
): Generator<{ from: number; to: number }> {
  const width = Math.max(1, Math.floor(maxValues / outputs));
  for (let from = 0; from < inputs; from += width) yield { from, to: Math.min(inputs, from + width) };
}
