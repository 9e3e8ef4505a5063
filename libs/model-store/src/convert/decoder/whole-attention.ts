import type { ValueName } from '../../onnx/index.js';
import type { DecoderBody } from './decoder-body.js';

/** Values of one layer, each `[batch, heads, tokens, headSize]`; keys and values have heads and tokens of their own. */
interface WholeAttention {
  query: ValueName;
  keys: ValueName;
  values: ValueName;
}

/**
 * Adds attention to keys and values in one piece: `[batch, sequence, heads * headSize]`. `weigh` makes weights of the
 * scores, `[batch, kv_heads, group, sequence, tokens]`, which are capped where the model caps them.
 */
export function emitWholeAttention(
  body: DecoderBody,
  { query, keys, values }: WholeAttention,
  weigh: (scores: ValueName) => ValueName,
): ValueName {
  const { builder } = body;
  const { heads, keyValueHeads, headSize, attention } = body.options.shape;
  // One axis for the group of query heads that share a key-value head; keys and values broadcast over it.
  const groups = builder.integers([0, keyValueHeads, heads / keyValueHeads, -1, headSize]);
  const grouped = builder.node('Reshape', [query, groups]);
  const group = (value: ValueName) => builder.node('Unsqueeze', [value, builder.integers([2])]);
  const transposedKeys = builder.node('Transpose', [group(keys)], { perm: [0, 1, 2, 4, 3] });
  const scores = builder.node('MatMul', [grouped, transposedKeys]);
  const weights = weigh(body.softCapped(scores, attention?.softCap));
  const context = builder.node('MatMul', [weights, group(values)]);
  return body.joinHeads(builder.node('Reshape', [context, builder.integers([0, heads, -1, headSize])]));
}
