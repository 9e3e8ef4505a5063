import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import { type IndexerShape, weightNames } from './decoder-shape.js';
import type { MixerBody } from './mixer-body.js';
import type { RotaryTables } from './rotary-tables.js';

/** Projections by which an indexer scores positions, before queries and keys rotate. */
export interface IndexProjections {
  /** `[batch, sequence, heads * size]`. */
  query: ValueName;
  /** `[batch, sequence, size]`. */
  key: ValueName;
  /** Factors of the scores of the heads, `[batch, sequence, heads]`. */
  weights: ValueName;
}

/** Added to the variance by the norm of keys, whatever the file says of other norms. */
const normEpsilon = 1e-6;

/**
 * Adds the projections of an indexer: queries from the latent that those of attention are computed from, the others from
 * the input of the layer. Published code turns queries and keys by a Hadamard transform before it stores them in 8 bits;
 * that leaves their products as they are, so it is left out here.
 */
export function emitIndex(
  body: MixerBody,
  layer: number,
  { heads, size }: IndexerShape,
  { input, narrow }: { input: ValueName; narrow: ValueName },
): IndexProjections {
  const { builder } = body;
  const { hiddenSize, latent } = body.options.shape;
  const name = (part: 'index_query' | 'index_key' | 'index_key_norm' | 'index_weights') =>
    weightNames.layer(layer, part);
  const query = { name: name('index_query'), inputs: latent?.queryRank ?? hiddenSize, outputs: heads * size };
  const key = { name: name('index_key'), inputs: hiddenSize, outputs: size };
  const norm = [body.vector(name('index_key_norm'), size), body.vector(weightNames.bias(name('index_key_norm')), size)];
  const weights = { name: name('index_weights'), inputs: hiddenSize, outputs: heads };
  const factors = body.linear(input, weights, false, { kind: 'float32' });
  return {
    query: body.linear(narrow, query, false),
    key: builder.node('LayerNormalization', [body.linear(input, key, false), ...norm], {
      axis: -1,
      epsilon: { float: normEpsilon },
    }),
    // The scale of the products is positive, so it may follow their ReLU.
    weights: builder.node('Mul', [factors, builder.float(1 / Math.sqrt(heads * size))]),
  };
}

/** How heads of an indexer rotate: as those of attention, but for the order of the pairs. */
export interface IndexRotation {
  positions: ValueName;
  tables: RotaryTables;
  /** Leading values of a head that rotate. */
  dimensions: number;
}

/** Adds the rotation of queries or keys, `[batch, sequence, heads * size]`. */
export function rotateIndex(
  builder: GraphBuilder,
  { size, interleaved }: IndexerShape,
  { input, heads }: { input: ValueName; heads: number },
  { positions, tables, dimensions }: IndexRotation,
): ValueName {
  return builder.contribNode('RotaryEmbedding', [input, positions, tables.cosines, tables.sines], {
    num_heads: heads,
    interleaved: interleaved ? 1 : 0,
    ...(dimensions < size ? { rotary_embedding_dim: dimensions } : {}),
  });
}

/** Positions from which tokens choose, and what scores them. */
export interface Candidates {
  /** Rotated queries `[batch, sequence, heads * size]`, and the factors of their scores. */
  query: ValueName;
  weights: ValueName;
  /** Keys in the order of the positions, `[batch, 1, positions, size]` each. */
  keys: readonly ValueName[];
  /** Added to scores, `[batch, 1, sequence, all positions]`: zero where a token may look, far below any score elsewhere. */
  mask: ValueName;
  /** Their number, as a vector of one. */
  total: ValueName;
  /** `[batch, sequence]`. */
  rows: ValueName;
}

/**
 * Adds the mask of the positions that tokens choose, `[batch, 1, sequence, all positions]`: as `mask`, and `masked` where a
 * token does not look. The score of a position is the weighted sum of the positive products of all heads.
 */
export function emitChoice(
  builder: GraphBuilder,
  { heads, size, topK }: IndexerShape,
  { query, weights, keys, mask, total, rows }: Candidates,
  masked: ValueName,
): ValueName {
  // The heads of a token are rows of one product, one after the other.
  const queries = builder.node('Reshape', [query, builder.integers([0, 1, -1, size])]);
  const byToken = builder.node('Concat', [rows, builder.integers([heads, 0])], { axis: 0 });
  const factors = builder.node('Unsqueeze', [weights, builder.integers([2])]);
  const sums = keys.map((key) => {
    const products = builder.contribNode('FusedMatMul', [queries, key], { transA: 0, transB: 1 });
    const positive = builder.node('Relu', [products]);
    return builder.node('MatMul', [factors, builder.node('Reshape', [positive, byToken])]);
  });
  const joined = builder.node('Concat', sums, { axis: -1 });
  const scores = builder.node('Add', [builder.node('Reshape', [joined, builder.integers([0, 1, -1, 0])]), mask]);
  const count = builder.node('Min', [total, builder.integers([topK])]);
  const [best, places] = [builder.freshName('best'), builder.freshName('places')];
  builder.nodeWithOutputs('TopK', [scores, count], [best, places], { axis: -1, largest: 1, sorted: 0 });
  const spread = (value: ValueName, like: ValueName) => builder.node('Expand', [value, builder.node('Shape', [like])]);
  const kept = spread(builder.float(0), places);
  const chosen = builder.node('ScatterElements', [spread(masked, scores), places, kept], { axis: -1 });
  return builder.node('Add', [chosen, mask]);
}
