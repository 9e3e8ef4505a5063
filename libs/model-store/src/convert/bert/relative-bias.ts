import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import type { WeightSource } from '../decoder/index.js';
import { emitDistances } from './token-distances.js';

/** Distances from here on share one bucket. */
const maxDistance = 128;

export interface RelativeBias {
  source: WeightSource;
  /** Name of the table, `[buckets, heads]`. */
  table: string;
  buckets: number;
  heads: number;
}

/** Adds the bias of attention between tokens by their distance, `[1, heads, sequence, sequence]`. */
export function emitRelativeBias(
  builder: GraphBuilder,
  ids: ValueName,
  { source, table, buckets, heads }: RelativeBias,
): ValueName {
  const distances = 2 * maxDistance + 1;
  const byDistance = builder.weight(`${table}.by_distance`, 'float32', [distances, heads], async function* () {
    const values = await source.rows(table, 0, buckets);
    const rows = Array.from({ length: distances }, (_, index) => bucketOf(index - maxDistance, buckets));
    yield bytesOf(Float32Array.from(rows.flatMap((row) => [...values.subarray(row * heads, (row + 1) * heads)])));
  });
  const apart = emitDistances(builder, ids);
  const clipped = builder.node('Clip', [apart, builder.integers(-maxDistance), builder.integers(maxDistance)]);
  const rows = builder.node('Add', [clipped, builder.integers(maxDistance)]);
  const found = builder.node('Gather', [byDistance, rows]);
  return builder.node('Unsqueeze', [builder.node('Transpose', [found], { perm: [2, 0, 1] }), builder.integers([0])]);
}

/**
 * Returns the bucket of a distance: half of them for tokens before, half for tokens behind. Near distances have their
 * own, the rest grow with the logarithm, computed in float32 as the reference does.
 */
function bucketOf(distance: number, buckets: number): number {
  const half = buckets / 2;
  const side = distance > 0 ? half : 0;
  const far = Math.abs(distance);
  const exact = half / 2;
  if (far < exact) return side + far;
  const grown = Math.fround(Math.log(Math.fround(far / exact)));
  const share = Math.fround(Math.fround(grown / Math.fround(Math.log(maxDistance / exact))) * (half - exact));
  return side + Math.min(half - 1, exact + Math.trunc(share));
}
