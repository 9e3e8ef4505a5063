import { GraphBuilder, type ValueName } from '../onnx/index.js';
import { encodeAlone } from './helper-graphs.js';

/* Small graphs that change the caches and states of a split graph on its device, as files in memory. */

/** Heads of a cache, and the values of each. */
export interface PositionSizes {
  heads: number;
  dimension: number;
}

/**
 * Writes new positions `new_kv` `[caches, batch, heads, seq, dimension]` of a split graph into its caches, `x.N` to `y.N`
 * `[batch, heads, capacity, dimension]`, which may be the same tensor. Caches may have fewer heads and values than the new
 * positions, which are padded. `places.H` names where those of caches with H heads go: int64 `[batch, H, seq, 3]`, the
 * row, the head and the position.
 */
export function appendPositionsGraph(caches: readonly PositionSizes[], fresh: PositionSizes): Uint8Array {
  const builder = new GraphBuilder('append-positions');
  builder.input('new_kv', 'float32', [caches.length, 'batch', fresh.heads, 'seq', fresh.dimension]);
  for (const heads of new Set(caches.map((sizes) => sizes.heads))) {
    builder.input(`places.${heads}`, 'int64', ['batch', heads, 'seq', 3]);
  }
  caches.forEach(({ heads, dimension }, index) => {
    const dimensions = ['batch', heads, `capacity.${index}`, dimension];
    const cache = builder.input(`x.${index}`, 'float32', dimensions);
    const sizes = { index, heads, dimension };
    const positions = ownPositions(builder, sizes, fresh);
    builder.node('ScatterND', [cache, `places.${heads}`, positions], {}, `y.${index}`);
    builder.output(`y.${index}`, 'float32', dimensions);
  });
  return encodeAlone(builder);
}

/** New positions of one cache. */
function ownPositions(
  builder: GraphBuilder,
  { index, heads, dimension }: PositionSizes & { index: number },
  fresh: PositionSizes,
): ValueName {
  const padded = builder.node('Gather', ['new_kv', builder.integers(index)], { axis: 0 });
  if (heads === fresh.heads && dimension === fresh.dimension) return padded;
  const bounds = [
    [0, 0],
    [heads, dimension],
    [1, 3],
  ].map((values) => builder.integers(values));
  return builder.node('Slice', [padded, ...bounds]);
}

/** Picks rows of states of some sizes: `x.N` `[rows, …]` to `y.N`. */
export function pickStatesGraph(sizes: readonly (readonly number[])[]): Uint8Array {
  const builder = new GraphBuilder('pick-states');
  builder.input('rows', 'int64', ['picked']);
  sizes.forEach((dimensions, index) => {
    const state = builder.input(`x.${index}`, 'float32', ['rows_x', ...dimensions]);
    builder.node('Gather', [state, 'rows'], { axis: 0 }, `y.${index}`);
    builder.output(`y.${index}`, 'float32', ['picked', ...dimensions]);
  });
  return encodeAlone(builder);
}

/** Puts rows of the states `a.N` and `b.N`, one behind the other in the order of `rows`, into `y.N`. */
export function joinStatesGraph(sizes: readonly (readonly number[])[]): Uint8Array {
  const builder = new GraphBuilder('join-states');
  builder.input('rows', 'int64', ['picked']);
  sizes.forEach((dimensions, index) => {
    const sides = ['a', 'b'].map((side) =>
      builder.input(`${side}.${index}`, 'float32', [`rows_${side}`, ...dimensions]),
    );
    const joined = builder.node('Concat', sides, { axis: 0 });
    builder.node('Gather', [joined, 'rows'], { axis: 0 }, `y.${index}`);
    builder.output(`y.${index}`, 'float32', ['picked', ...dimensions]);
  });
  return encodeAlone(builder);
}
