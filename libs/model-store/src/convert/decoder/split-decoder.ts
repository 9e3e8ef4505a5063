import type { OnnxGraph } from '../../onnx/index.js';
import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import { DecoderBody, type DecoderOptions, type Projections } from './decoder-body.js';

/** Candidates of the output that samplers read instead of the whole row. */
const topCandidates = 64;

/** Far below any score, yet finite, so that a row without a past yields zeros instead of not-a-number. */
const masked = -1e9;

/**
 * The split graph: keys and values of the past are plain inputs that are only read, and the graph returns those of
 * the new tokens alone, so that a step copies a few kilobytes whatever the cache's capacity. Scores over the past and
 * over the new tokens are computed apart, joined and soft-maxed once.
 *
 * Inputs:  `input_ids` int64 [batch, seq]; `past_lens` int64 [batch], valid positions of each row's past;
 *          `last_index` int64 [batch], the position within `seq` whose logits are wanted (rows may be padded right);
 *          `past_key_values.N.key|value` float32 [batch, kv_heads, capacity, head_dim].
 * Outputs: `logits` float32 [batch, vocab]; `topk_values` float32 and `topk_ids` int64 [batch, min(64, vocab)],
 *          descending; `lse` float32 [batch], the log of the sum of exponentials of the row of logits;
 *          `new_kv` float32 [2 * layers, batch, kv_heads, seq, head_dim], layer by layer, key then value.
 */
export function emitSplitDecoder(options: DecoderOptions): OnnxGraph {
  if (options.linear.kind === 'float16') throw new Error('The split graph computes in float32.');
  return new SplitDecoder(new DecoderBody('split-decoder', options)).emit();
}

class SplitDecoder {
  private readonly builder: GraphBuilder;
  private readonly newKeyValues: ValueName[] = [];
  /** Lengths as one-element vectors, for shapes. */
  private readonly sequence: ValueName;
  private readonly capacity: ValueName;
  private readonly positions: ValueName;
  /** Added to scores over the past, `[batch, 1, 1, 1, capacity]`, and over the new tokens, `[1, 1, 1, seq, seq]`. */
  private readonly pastMask: ValueName;
  private readonly newMask: ValueName;
  /** Where the joined scores part again: `[capacity, seq]`. */
  private readonly parts: ValueName;
  private readonly batchShape: ValueName;
  private readonly tables: { cosines: ValueName; sines: ValueName };

  constructor(private readonly body: DecoderBody) {
    const builder = (this.builder = body.builder);
    builder.input('input_ids', 'int64', ['batch', 'seq']);
    builder.input('past_lens', 'int64', ['batch']);
    builder.input('last_index', 'int64', ['batch']);
    this.declarePast();
    const sequence = this.dimension('input_ids', 1);
    const capacity = this.dimension('past_key_values.0.key', 2);
    this.sequence = this.unsqueeze(sequence, [0]);
    this.capacity = this.unsqueeze(capacity, [0]);
    const steps = this.range(sequence);
    const pastColumn = this.unsqueeze('past_lens', [1]);
    this.positions = builder.node('Add', [pastColumn, this.unsqueeze(steps, [0])]);
    const isPast = builder.node('Less', [this.unsqueeze(this.range(capacity), [0]), pastColumn]);
    this.pastMask = this.unsqueeze(this.maskWhereNot(isPast), [1, 2, 3]);
    const isCausal = builder.node('LessOrEqual', [this.unsqueeze(steps, [0]), this.unsqueeze(steps, [1])]);
    this.newMask = this.unsqueeze(this.maskWhereNot(isCausal), [0, 1, 2]);
    this.parts = this.concat([this.capacity, this.sequence], 0);
    this.batchShape = builder.node('Shape', ['past_lens']);
    this.tables = body.emitRotaryTables();
  }

  emit(): OnnxGraph {
    const { builder, body } = this;
    const { shape } = body.options;
    const hidden = body.emitLayers((layer, projections) => this.attend(layer, projections));
    const last = builder.node('GatherND', [hidden, this.unsqueeze('last_index', [1])], { batch_dims: 1 });
    this.emitOutputs(body.emitHead(last), shape.vocabularySize);
    builder.node('Concat', this.newKeyValues, { axis: 0 }, 'new_kv');
    const { layers, keyValueHeads, headSize } = shape;
    builder.output('new_kv', 'float32', [2 * layers, 'batch', keyValueHeads, 'seq', headSize]);
    return builder.build();
  }

  private declarePast(): void {
    const { layers, keyValueHeads, headSize } = this.body.options.shape;
    for (let layer = 0; layer < layers; layer++) {
      for (const part of ['key', 'value']) {
        const dimensions = ['batch', keyValueHeads, 'capacity', headSize];
        this.builder.input(`past_key_values.${layer}.${part}`, 'float32', dimensions);
      }
    }
  }

  private emitOutputs(head: ValueName, vocabularySize: number): void {
    const { builder } = this;
    const candidates = Math.min(topCandidates, vocabularySize);
    builder.node('Identity', [head], {}, 'logits');
    builder.output('logits', 'float32', ['batch', vocabularySize]);
    const size = builder.integers([candidates]);
    const attributes = { axis: -1, largest: 1, sorted: 1 };
    builder.nodeWithOutputs('TopK', [head, size], ['topk_values', 'topk_ids'], attributes);
    builder.output('topk_values', 'float32', ['batch', candidates]);
    builder.output('topk_ids', 'int64', ['batch', candidates]);
    builder.node('ReduceLogSumExp', [head], { axes: [-1], keepdims: 0 }, 'lse');
    builder.output('lse', 'float32', ['batch']);
  }

  private attend(layer: number, projections: Projections): ValueName {
    const { body, builder } = this;
    const { heads, keyValueHeads, headSize } = body.options.shape;
    const query = body.splitHeads(body.rotate(projections.query, heads, this.positions, this.tables), heads);
    const rotatedKey = body.rotate(projections.key, keyValueHeads, this.positions, this.tables);
    const key = body.splitHeads(rotatedKey, keyValueHeads);
    const value = body.splitHeads(projections.value, keyValueHeads);
    this.newKeyValues.push(this.unsqueeze(key, [0]), this.unsqueeze(value, [0]));

    // Query heads that share a key-value head become rows of one product: [batch, kv_heads, group * seq, head_dim].
    const grouped = builder.node('Reshape', [query, builder.integers([0, keyValueHeads, -1, headSize])]);
    const past = `past_key_values.${layer}`;
    const pastScores = builder.node('Add', [this.scores(grouped, `${past}.key`, this.capacity), this.pastMask]);
    const newScores = builder.node('Add', [this.scores(grouped, key, this.sequence), this.newMask]);
    const weights = builder.node('Softmax', [this.concat([pastScores, newScores], -1)], { axis: -1 });
    const pastWeights = builder.freshName('past_weights');
    const newWeights = builder.freshName('new_weights');
    builder.nodeWithOutputs('Split', [weights, this.parts], [pastWeights, newWeights], { axis: -1 });
    const context = builder.node('Add', [
      builder.node('MatMul', [this.mergeGroups(pastWeights, this.capacity), `${past}.value`]),
      builder.node('MatMul', [this.mergeGroups(newWeights, this.sequence), value]),
    ]);
    const perHead = [this.batchShape, builder.integers([heads]), this.sequence, builder.integers([headSize])];
    return body.joinHeads(builder.node('Reshape', [context, this.concat(perHead, 0)]));
  }

  /** Scaled products of queries and keys as `[batch, kv_heads, group, seq, count]`, ready for the masks. */
  private scores(grouped: ValueName, keys: ValueName, count: ValueName): ValueName {
    const { builder } = this;
    const { heads, keyValueHeads, headSize } = this.body.options.shape;
    const product = builder.contribNode('FusedMatMul', [grouped, keys], {
      transA: 0,
      transB: 1,
      alpha: { float: 1 / Math.sqrt(headSize) },
    });
    const groups = builder.integers([keyValueHeads, heads / keyValueHeads]);
    const dimensions = this.concat([this.batchShape, groups, this.sequence, count], 0);
    return builder.node('Reshape', [product, dimensions], { allowzero: 1 });
  }

  /** `[batch, kv_heads, group, seq, count]` → `[batch, kv_heads, group * seq, count]`; `count` may be 0. */
  private mergeGroups(weights: ValueName, count: ValueName): ValueName {
    const { builder } = this;
    const { heads, keyValueHeads } = this.body.options.shape;
    const rows = builder.node('Mul', [this.sequence, builder.integers([heads / keyValueHeads])]);
    const dimensions = this.concat([this.batchShape, builder.integers([keyValueHeads]), rows, count], 0);
    return builder.node('Reshape', [weights, dimensions], { allowzero: 1 });
  }

  private maskWhereNot(condition: ValueName): ValueName {
    return this.builder.node('Where', [condition, this.builder.float(0), this.builder.float(masked)]);
  }

  private dimension(value: ValueName, axis: number): ValueName {
    return this.builder.node('Gather', [this.builder.node('Shape', [value]), this.builder.integers(axis)]);
  }

  private range(end: ValueName): ValueName {
    return this.builder.node('Range', [this.builder.integers(0), end, this.builder.integers(1)]);
  }

  private unsqueeze(value: ValueName, axes: number[]): ValueName {
    return this.builder.node('Unsqueeze', [value, this.builder.integers(axes)]);
  }

  private concat(values: ValueName[], axis: number): ValueName {
    return this.builder.node('Concat', values, { axis });
  }
}
