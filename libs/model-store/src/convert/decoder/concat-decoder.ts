import type { OnnxGraph, ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { DecoderBody, type DecoderOptions, type Projections } from './decoder-body.js';
import { emitWholeAttention } from './whole-attention.js';

/** Mask value: far below any score and within half precision. */
const masked = -60000;

/** Declares the shared parts of the transformers.js layouts; the past's length is a free dimension. */
function declareCache(body: DecoderBody): void {
  const { layers, keyValueHeads, headSize } = body.options.shape;
  for (let layer = 0; layer < layers; layer++) {
    for (const part of ['key', 'value']) {
      const name = `${layer}.${part}`;
      body.builder.input(`past_key_values.${name}`, body.type, ['batch', keyValueHeads, 'past', headSize]);
      body.builder.output(`present.${name}`, body.type, ['batch', keyValueHeads, 'total', headSize]);
    }
  }
}

function emitLogits(body: DecoderBody, hidden: ValueName): void {
  body.builder.node('Identity', [body.emitHead(hidden)], {}, 'logits');
  body.builder.output('logits', body.type, ['batch', 'seq', body.options.shape.vocabularySize]);
}

/**
 * The plain layout of transformers.js: each step takes the whole past and returns it with the new tokens appended.
 * Slow, but independent of the split graph's attention, so the tests compare the two.
 *
 * - input `input_ids`, `position_ids`: int64 [batch, seq]
 * - input `attention_mask`: int64 [batch, total], 0 where padded
 * - input `past_key_values.N.key|value`: [batch, kv_heads, past, head_dim]
 * - output `logits`: [batch, seq, vocab]
 * - output `present.N.key|value`: [batch, kv_heads, total, head_dim]
 */
export function emitConcatDecoder(options: DecoderOptions): OnnxGraph {
  const body = new DecoderBody('concat-decoder', options);
  const { builder } = body;
  builder.input('input_ids', 'int64', ['batch', 'seq']);
  builder.input('attention_mask', 'int64', ['batch', 'total']);
  builder.input('position_ids', 'int64', ['batch', 'seq']);
  declareCache(body);
  const masks = new Map<number, ValueName>();
  const hidden = body.emitLayers((layer, projections) => {
    const window = body.windowOf(layer)?.size ?? 0;
    const mask = masks.get(window) ?? emitMask(body, window);
    masks.set(window, mask);
    return attendConcat(body, { layer, projections, mask });
  });
  emitLogits(body, hidden);
  return builder.build();
}

/** `[batch, 1, 1, seq, total]`: zero where a new token may attend, far below zero elsewhere. */
function emitMask(body: DecoderBody, window: number): ValueName {
  const { builder } = body;
  const length = (value: string) => builder.node('Gather', [builder.node('Shape', [value]), builder.integers(1)]);
  const range = (end: ValueName) => builder.node('Range', [builder.integers(0), end, builder.integers(1)]);
  const total = length('attention_mask');
  const sequence = length('input_ids');
  const past = builder.node('Sub', [total, sequence]);
  const rows = builder.node('Unsqueeze', [builder.node('Add', [range(sequence), past]), builder.integers([1])]);
  const columns = builder.node('Unsqueeze', [range(total), builder.integers([0])]);
  const before = builder.node('LessOrEqual', [columns, rows]);
  const firstSeen = window > 0 ? body.lastHidden(rows, window) : null;
  const causal = firstSeen ? builder.node('And', [before, builder.node('Greater', [columns, firstSeen])]) : before;
  const present = builder.node('Cast', ['attention_mask'], { to: onnxDataTypeCode.bool });
  const visible = builder.node('And', [
    builder.node('Unsqueeze', [causal, builder.integers([0, 1, 2])]),
    builder.node('Unsqueeze', [present, builder.integers([1, 2, 3])]),
  ]);
  return builder.node('Where', [visible, body.scalar(0), body.scalar(masked)]);
}

interface ConcatAttention {
  layer: number;
  projections: Projections;
  mask: ValueName;
}

function attendConcat(body: DecoderBody, { layer, projections, mask }: ConcatAttention): ValueName {
  const { builder } = body;
  const { heads, keyValueHeads, attention } = body.options.shape;
  const { key, value } = projections;
  if (key === null || value === null) throw new Error('This layout has keys and values in every layer.');
  const append = (part: string, value: ValueName) =>
    builder.node('Concat', [`past_key_values.${layer}.${part}`, value], { axis: 2 }, `present.${layer}.${part}`);
  const keys = append('key', body.splitHeads(body.rotateKey(layer, key, 'position_ids'), keyValueHeads));
  const values = append('value', body.splitHeads(value, keyValueHeads));
  const query = body.splitHeads(body.rotateQuery(layer, projections.query, 'position_ids'), heads);
  return emitWholeAttention(body, { query, keys, values }, (scores) => {
    const visible = builder.node('Add', [scores, mask]);
    return attention?.sinks ? withSinks(body, layer, visible) : builder.node('Softmax', [visible], { axis: -1 });
  });
}

/** Weights of the tokens beside a sink, for scores `[batch, kv_heads, group, seq, total]`. */
function withSinks(body: DecoderBody, layer: number, scores: ValueName): ValueName {
  const { builder } = body;
  const shape = builder.node('Shape', [scores]);
  const total = builder.node('Gather', [shape, builder.integers([4])]);
  const rows = builder.integers([0, 0, -1]);
  const flat = builder.node('Reshape', [scores, builder.node('Concat', [rows, total], { axis: 0 })]);
  const perHead = builder.node('Slice', [shape, builder.integers([0]), builder.integers([4])]);
  const joined = builder.node('Concat', [flat, body.sinkColumn(layer, perHead)], { axis: -1 });
  const weights = builder.node('Softmax', [joined], { axis: -1 });
  const kept = builder.node('Slice', [weights, builder.integers([0]), builder.integers([-1]), builder.integers([3])]);
  return builder.node('Reshape', [kept, shape]);
}

/**
 * The layout of exports that fuse the cache into GroupQueryAttention. Like the plain one, but positions follow from
 * `attention_mask` and there are no `position_ids`. Supports only rotation of whole heads.
 */
export function emitGroupQueryDecoder(options: DecoderOptions): OnnxGraph {
  const { shape } = options;
  if (shape.rotary.dimensions < shape.headSize) throw new Error('GroupQueryAttention rotates whole heads.');
  if (shape.attention !== undefined || shape.normsRotated) {
    throw new Error('GroupQueryAttention is only written for plain attention.');
  }
  const body = new DecoderBody('group-query-decoder', options);
  const { builder } = body;
  builder.input('input_ids', 'int64', ['batch', 'seq']);
  builder.input('attention_mask', 'int64', ['batch', 'total']);
  declareCache(body);
  const int32 = { to: onnxDataTypeCode.int32 };
  const lengths = builder.node('ReduceSum', ['attention_mask', builder.integers([1])], { keepdims: 0 });
  const lastKeys = builder.node('Cast', [builder.node('Sub', [lengths, builder.integers(1)])], int32);
  const maskShape = builder.node('Shape', ['attention_mask']);
  const total = builder.node('Cast', [builder.node('Gather', [maskShape, builder.integers(1)])], int32);
  const tables = body.rotaryTables(0);
  if (tables === null) throw new Error('GroupQueryAttention rotates every layer.');
  const attributes = {
    num_heads: shape.heads,
    kv_num_heads: shape.keyValueHeads,
    do_rotary: 1,
    rotary_interleaved: 0,
    scale: { float: 1 / Math.sqrt(shape.headSize) },
  };
  const hidden = body.emitLayers((layer, { query, key, value }) => {
    const past = [`past_key_values.${layer}.key`, `past_key_values.${layer}.value`];
    if (key === null || value === null) throw new Error('This layout has keys and values in every layer.');
    const inputs = [query, key, value, ...past, lastKeys, total, tables.cosines, tables.sines];
    const outputs = [builder.freshName('attention'), `present.${layer}.key`, `present.${layer}.value`];
    return builder.contribNodeWithOutputs('GroupQueryAttention', inputs, outputs, attributes);
  });
  emitLogits(body, hidden);
  return builder.build();
}
