import { encodeModel, type TensorPlacement } from '../onnx/graph-encoder.js';
import type { CacheType, FloatCacheType } from './cache-in-place.js';
import { GraphBuilder, type OnnxInitializer, type ValueName } from '../onnx/index.js';

/** Small graphs that a device needs beside those of models, as files in memory. */

/** Doubles half floats, which shows whether a device computes with them. */
export function halfFloatGraph(): Uint8Array {
  const builder = new GraphBuilder('half-floats');
  builder.input('x', 'float16', ['count']);
  builder.node('Add', ['x', 'x'], {}, 'y');
  builder.output('y', 'float16', ['count']);
  return encodeAlone(builder);
}

/** Sizes of attention. */
export interface AttentionSizes {
  heads: number;
  keyValueHeads: number;
  headSize: number;
}

/** GroupQueryAttention alone, `query` to `y` `[batch, seq, heads * size]`, without a rotation. */
export function attentionGraph({ heads, keyValueHeads, headSize }: AttentionSizes, type: FloatCacheType): Uint8Array {
  const builder = new GraphBuilder('attention');
  const sizes = { query: heads, key: keyValueHeads, value: keyValueHeads };
  for (const [name, count] of Object.entries(sizes)) {
    builder.input(name, type, ['batch', 'seq', count * headSize]);
  }
  const cache = ['batch', keyValueHeads, 'capacity', headSize];
  for (const name of ['past_key', 'past_value']) builder.input(name, type, cache);
  builder.input('seqlens_k', 'int32', ['batch']);
  builder.input('total_length', 'int32', [1]);
  const inputs = [...Object.keys(sizes), 'past_key', 'past_value', 'seqlens_k', 'total_length'];
  const outputs = ['y', 'present_key', 'present_value'];
  const attributes = { num_heads: heads, kv_num_heads: keyValueHeads };
  builder.contribNodeWithOutputs('GroupQueryAttention', inputs, outputs, attributes);
  builder.output('y', type, ['batch', 'seq', heads * headSize]);
  for (const name of ['present_key', 'present_value']) builder.output(name, type, cache);
  return encodeAlone(builder);
}

/**
 * Copies the first `length` positions of some rows of `count` tensors: `x.N` `[rows, heads, positions, size]` to `y.N`,
 * with zeros behind them. `pads` is as the operator Pad takes it.
 */
export function pickRowsGraph(count: number, type: CacheType): Uint8Array {
  const builder = new GraphBuilder('pick-rows');
  builder.input('rows', 'int64', ['picked']);
  builder.input('length', 'int64', [1]);
  builder.input('pads', 'int64', [8]);
  const [first, axis] = [builder.integers([0]), builder.integers([2])];
  for (let index = 0; index < count; index += 1) {
    const input = tensor(builder, type, `x.${index}`, 'rows');
    const picked = builder.node('Gather', [input, 'rows'], { axis: 0 });
    const begun = builder.node('Slice', [picked, first, 'length', axis]);
    builder.node('Pad', [begun, 'pads'], {}, `y.${index}`);
    builder.output(`y.${index}`, type, ['picked', `x.${index}_heads`, 'capacity', `x.${index}_size`]);
  }
  return encodeAlone(builder);
}

/** Puts rows of `a.N` and `b.N`, each padded first, one behind the other in the order of `rows`, into `y.N`. */
export function joinRowsGraph(count: number, type: CacheType): Uint8Array {
  const builder = new GraphBuilder('join-rows');
  builder.input('rows', 'int64', ['picked']);
  for (const side of ['a', 'b']) builder.input(`pads_${side}`, 'int64', [8]);
  for (let index = 0; index < count; index += 1) {
    const sides = ['a', 'b'].map((side) => {
      const input = tensor(builder, type, `${side}.${index}`, `rows_${side}`);
      return builder.node('Pad', [input, `pads_${side}`]);
    });
    const joined = builder.node('Concat', sides, { axis: 0 });
    builder.node('Gather', [joined, 'rows'], { axis: 0 }, `y.${index}`);
    builder.output(`y.${index}`, type, ['picked', `y.${index}_heads`, 'capacity', `y.${index}_size`]);
  }
  return encodeAlone(builder);
}

/** Fills `y` of a `shape` with one value `x`. */
export function fillGraph(): Uint8Array {
  const builder = new GraphBuilder('fill');
  builder.input('x', 'float32', [1]);
  builder.input('shape', 'int64', [4]);
  builder.node('Expand', ['x', 'shape'], {}, 'y');
  builder.output('y', 'float32', ['batch', 'channels', 'height', 'width']);
  return encodeAlone(builder);
}

/** Tensors of a cache may differ in their heads, so each has names of its own: equal names mean equal sizes. */
function tensor(builder: GraphBuilder, type: CacheType, name: string, rows: string): ValueName {
  return builder.input(name, type, [rows, `${name}_heads`, `${name}_positions`, `${name}_size`]);
}

/** Returns the graph as a file of its own, with its constants in it. */
export function encodeAlone(builder: GraphBuilder): Uint8Array {
  const graph = builder.build();
  const placements = new Map<OnnxInitializer, TensorPlacement>();
  for (const initializer of graph.initializers) {
    const bytes = initializer.content();
    if (!(bytes instanceof Uint8Array)) throw new TypeError('A constant is not in one piece.');
    placements.set(initializer, { kind: 'embedded', bytes });
  }
  return encodeModel(graph, placements);
}
