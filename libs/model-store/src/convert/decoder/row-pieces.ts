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
): AsyncGenerator<{ from: number; values: Float32Array }> {
  const step = Math.max(1, Math.floor(pieceValues / layer.inputs));
  for (let from = 0; from < layer.outputs; from += step) {
    const values = await weights.rows(layer.name, from, Math.min(layer.outputs, from + step));
    yield { from, values };
  }
}
