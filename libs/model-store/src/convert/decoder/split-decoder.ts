import type { GraphBuilder, OnnxGraph, ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { DecoderBody, type DecoderOptions, type Projections } from './decoder-body.js';
import {
  cacheTensors,
  cachingLayers,
  headSizeOf,
  type IndexerShape,
  keyValueHeadsOf,
  stateTensors,
} from './decoder-shape.js';
import { emitChoice, type IndexProjections, rotateIndex } from './indexer.js';
import type { LayerStates } from './mixer.js';

/** Number of top candidates that the graph returns for samplers. */
const topCandidates = 64;

/** Mask value: far below any score, yet finite, so that a row without a past yields zeros instead of NaN. */
const masked = -1e9;

/**
 * The split graph: past keys and values are read-only inputs, and only those of the new tokens are returned. A step
 * therefore copies a few kilobytes whatever the cache's capacity. Scores over the past and over the new tokens are
 * computed separately, joined and soft-maxed once.
 *
 * - input `input_ids`: int64 [batch, seq]
 * - input `past_lens`: int64 [batch], valid positions of each row's past
 * - input `last_index`: int64 [batch], the position within `seq` whose logits are wanted (rows may be padded right)
 * - input `wanted_ids`: int64 [batch, wanted], tokens whose logits are wanted
 * - input `past_key_values.N.key|value`: float32 [batch, kv_heads, capacity, head_dim], of the layers that attend; of
 *   one with a window of W tokens, the dimension `capacity` has the name `window_W`. Layers with a window may have other
 *   numbers and sizes of heads than those without.
 * - input `past_key_values.N.latent`: the same in place of keys and values, for attention to latents
 * - input `past_key_values.N.index`: float32 [batch, 1, capacity, size], the keys of an indexer, of the layers with one
 * - input `window_starts`, if there are such layers: int64 [batch], the position in the first place of their pasts. The
 *   caller may drop positions that no later token sees.
 * - input `past_states.N.NAME`: float32 [batch, …], the state of a layer that does not attend; zeros before the first
 *   token
 * - output `new_states.N.NAME`: the same after the token at `last_index`
 * - output `logits`: float32 [batch, vocab]
 * - output `topk_values`, `topk_ids`: float32 and int64 [batch, min(64, vocab)], descending
 * - output `lse`: float32 [batch], the log of the sum of exponentials of the row of logits
 * - output `wanted_logits`: float32 [batch, wanted]
 * - output `new_kv`: float32 [2 * layers, batch, kv_heads, seq, head_dim], layer by layer that attends, key then value;
 *   of latents [layers, …], each with the keys of its indexer behind it. Zeros fill what a layer has less of heads and
 *   their values than another. Absent if no layer attends.
 */
export function emitSplitDecoder(options: DecoderOptions): OnnxGraph {
  if (options.linear.kind === 'float16') throw new Error('The split graph computes in float32.');
  return new SplitDecoder(new DecoderBody('split-decoder', options)).emit();
}

/** Values from which the masks are computed; lengths are vectors of one. */
interface MaskLengths {
  batch: ValueName;
  sequence: ValueName;
  /** `[seq]`: 0, 1, … */
  steps: ValueName;
  /** `past_lens` as `[batch, 1]`. */
  pastColumn: ValueName;
}

/** What layers with the same window share. */
interface PastShape {
  /**
   * Added to the joined scores: `[batch, 1, group * seq, capacity + seq]`, and a column of zeros for sinks. With an
   * indexer `[batch, 1, seq, capacity + seq]`.
   */
  mask: ValueName;
  /** Split sizes of the joined scores: `[capacity, seq]`, and 1 for the column of sinks. */
  parts: ValueName;
}

class SplitDecoder implements LayerStates {
  private readonly builder: GraphBuilder;
  private readonly newKeyValues: ValueName[] = [];
  /** Keys and values of the new tokens by layer, as they are cached. */
  private readonly fresh = new Map<number, { key: ValueName; value: ValueName }>();
  /** By the size of heads: `[batch, heads, seq, head_dim]`. */
  private readonly contextShapes = new Map<number, ValueName>();
  private readonly positions: ValueName;
  /** By the layers' window; 0: none. */
  private readonly pasts = new Map<number, PastShape>();
  /** Places of the last inputs of a row by the length of a convolution, `[batch, length - 1, 1]`. */
  private readonly lastInputs = new Map<number, ValueName>();
  /** Null until a layer needs it. */
  private mask: ValueName | null = null;
  private readonly lengths: MaskLengths;
  /** `[batch, kv_heads, group, seq]`. */
  private readonly scoreRows: ValueName;
  /** Place of a layer's keys and values among those that attend. */
  private readonly cachePlaces: ReadonlyMap<number, number>;
  /** Size of the heads in the output of new positions. */
  private readonly freshSize: number;
  /** The mask of the positions that the last layer with an indexer has chosen. */
  private choice: ValueName | null = null;

  constructor(private readonly body: DecoderBody) {
    const builder = (this.builder = body.builder);
    const { heads, keyValueHeads, headSize, latent } = body.options.shape;
    this.freshSize = Math.max(headSize, latent?.indexer?.size ?? 0);
    this.cachePlaces = new Map(cachingLayers(body.options.shape).map((layer, place) => [layer, place]));
    builder.input('input_ids', 'int64', ['batch', 'seq']);
    builder.input('past_lens', 'int64', ['batch']);
    builder.input('last_index', 'int64', ['batch']);
    builder.input('wanted_ids', 'int64', ['batch', 'wanted']);
    this.declarePast();
    const batch = builder.node('Shape', ['past_lens']);
    const sequence = this.dimension('input_ids', 1);
    this.scoreRows = this.concat([batch, builder.integers([keyValueHeads, heads / keyValueHeads]), sequence], 0);
    const steps = this.range(sequence);
    const pastColumn = this.unsqueeze('past_lens', [1]);
    this.positions = builder.node('Add', [pastColumn, this.unsqueeze(steps, [0])]);
    this.lengths = { batch, sequence, steps, pastColumn };
  }

  emit(): OnnxGraph {
    const { builder, body } = this;
    const { shape } = body.options;
    const hidden = body.emitLayers((layer, projections) => this.attend(layer, projections), this);
    const last = builder.node('GatherND', [hidden, this.unsqueeze('last_index', [1])], { batch_dims: 1 });
    this.emitOutputs(body.emitHead(last), shape.vocabularySize);
    if (this.newKeyValues.length > 0) {
      builder.node('Concat', this.newKeyValues, { axis: 0 }, 'new_kv');
      const dimensions = [this.newKeyValues.length, 'batch', shape.keyValueHeads, 'seq', this.freshSize];
      builder.output('new_kv', 'float32', dimensions);
    }
    for (const { layer, name, dimensions } of stateTensors(shape)) {
      builder.output(this.state(layer, name).present, 'float32', ['batch', ...dimensions]);
    }
    return builder.build();
  }

  private declarePast(): void {
    const { shape } = this.body.options;
    let hasWindow = false;
    for (const layer of this.cachePlaces.keys()) {
      const window = this.body.windowOf(layer);
      hasWindow ||= window !== null;
      const capacity = window === null ? 'capacity' : `window_${window.size}`;
      for (const { part, heads, size } of cacheTensors(shape, layer)) {
        this.builder.input(`${this.pastName(layer)}.${part}`, 'float32', ['batch', heads, capacity, size]);
      }
    }
    for (const { layer, name, dimensions } of stateTensors(shape)) {
      this.builder.input(this.state(layer, name).past, 'float32', ['batch', ...dimensions]);
    }
    if (hasWindow) this.builder.input('window_starts', 'int64', ['batch']);
  }

  private pastName(layer: number): string {
    return `past_key_values.${this.cachePlaces.get(layer)}`;
  }

  /** The state ends with the last token of the row, before its padding. */
  withPastInputs(layer: number, input: ValueName, length: number): ValueName {
    const { builder } = this;
    const { past, present } = this.state(layer, 'inputs');
    const joined = this.concat([past, input], 1);
    this.lastInputs.set(length, this.lastInputs.get(length) ?? this.emitLastInputs(length));
    const places = this.lastInputs.get(length) as ValueName;
    builder.node('GatherND', [joined, places], { batch_dims: 1 }, present);
    return joined;
  }

  state(layer: number, name: string): { past: ValueName; present: ValueName } {
    return { past: `past_states.${layer}.${name}`, present: `new_states.${layer}.${name}` };
  }

  tokenMask(): ValueName {
    this.mask ??= this.emitTokenMask();
    return this.mask;
  }

  private emitTokenMask(): ValueName {
    const { builder } = this;
    const isToken = builder.node('LessOrEqual', [
      this.unsqueeze(this.lengths.steps, [0]),
      this.unsqueeze('last_index', [1]),
    ]);
    return this.unsqueeze(builder.node('Cast', [isToken], { to: onnxDataTypeCode.float32 }), [2]);
  }

  /** Returns the places of the inputs that the next token needs, `[batch, length - 1, 1]`. */
  private emitLastInputs(length: number): ValueName {
    const steps = this.builder.integers(Array.from({ length: length - 1 }, (_, step) => step + 1));
    return this.unsqueeze(this.builder.node('Add', [this.unsqueeze('last_index', [1]), steps]), [2]);
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
    builder.node('GatherElements', [head, 'wanted_ids'], { axis: 1 }, 'wanted_logits');
    builder.output('wanted_logits', 'float32', ['batch', 'wanted']);
    this.emitLogSumExp(head);
    builder.output('lse', 'float32', ['batch']);
  }

  /**
   * Returns the best logit minus its log-probability. ReduceLogSumExp computes the same without vector instructions and
   * took a tenth of a step of a small model.
   */
  private emitLogSumExp(head: ValueName): void {
    const { builder } = this;
    const first = [builder.integers([0]), builder.integers([1]), builder.integers([1])];
    const bestId = builder.node('Slice', ['topk_ids', ...first]);
    const bestLogit = builder.node('Slice', ['topk_values', ...first]);
    const logProbabilities = builder.node('LogSoftmax', [head], { axis: -1 });
    const bestLogProbability = builder.node('GatherElements', [logProbabilities, bestId], { axis: 1 });
    const column = builder.node('Sub', [bestLogit, bestLogProbability]);
    builder.node('Squeeze', [column, builder.integers([1])], {}, 'lse');
  }

  private pastOf(layer: number): PastShape {
    const window = this.body.windowOf(layer)?.size ?? 0;
    const past = this.pasts.get(window) ?? this.emitPast(layer, window);
    this.pasts.set(window, past);
    return past;
  }

  private emitPast(layer: number, window: number): PastShape {
    const keys = this.body.options.shape.latent ? 'latent' : 'key';
    const owner = this.body.options.shape.sharedKeyValues?.[layer] ?? layer;
    const capacity = this.dimension(`${this.pastName(owner)}.${keys}`, 2);
    const sink = this.body.options.shape.attention?.sinks ? [this.builder.integers([1])] : [];
    return {
      mask: this.emitMask(layer, capacity, window),
      parts: this.concat([capacity, this.lengths.sequence, ...sink], 0),
    };
  }

  /**
   * Masks positions beyond a row's length in the past, and later positions in the new tokens; with a window, also those
   * before it.
   */
  private emitMask(layer: number, capacity: ValueName, window: number): ValueName {
    const { builder } = this;
    const { batch, sequence, steps, pastColumn } = this.lengths;
    const { heads } = this.body.options.shape;
    const keyValueHeads = keyValueHeadsOf(this.body.options.shape, layer);
    const isChunked = window > 0 && this.body.options.shape.attention?.window?.chunked === true;
    const one = builder.integers([1]);
    const places = this.unsqueeze(this.range(capacity), [0]);
    const columnsOfPast = window > 0 ? builder.node('Add', [places, this.unsqueeze('window_starts', [1])]) : places;
    const rowsOfNew = this.unsqueeze(steps, [1]);
    const columnsOfNew = this.unsqueeze(steps, [0]);
    let isPast = builder.node('Less', [columnsOfPast, pastColumn]);
    const seesImages = this.body.options.shape.media?.seesWholeImages === true;
    let isCausal = builder.node('LessOrEqual', [columnsOfNew, rowsOfNew]);
    if (seesImages) isCausal = builder.node('Or', [this.unsqueeze(isCausal, [0]), this.sameImage()]);
    if (window > 0) {
      const firstSeen = this.unsqueeze(this.body.lastHidden(this.positions, window), [2]);
      const isNear = builder.node('Greater', [this.unsqueeze(columnsOfPast, [1]), firstSeen]);
      isPast = builder.node('And', [this.unsqueeze(isPast, [1]), isNear]);
      // The border of a chunk depends on where a row's new tokens begin.
      const isNearNew = isChunked
        ? builder.node('Greater', [this.unsqueeze(this.positions, [1]), firstSeen])
        : builder.node('Greater', [columnsOfNew, this.body.lastHidden(rowsOfNew, window)]);
      isCausal = builder.node('And', [isCausal, isNearNew]);
    }
    // A choice of positions is one for all heads.
    const group = builder.integers([this.indexer ? 1 : heads / keyValueHeads]);
    const spread = (condition: ValueName, axes: number[], columns: ValueName) => {
      const values = builder.node('Where', [condition, builder.float(0), builder.float(masked)]);
      const shape = this.concat([batch, group, sequence, columns], 0);
      return builder.node('Expand', [this.unsqueeze(values, axes), shape]);
    };
    const past = spread(isPast, window > 0 ? [1] : [1, 2], capacity);
    const parts = [past, spread(isCausal, seesImages || isChunked ? [1] : [0, 1], sequence)];
    if (this.body.options.shape.attention?.sinks) {
      parts.push(builder.node('Expand', [builder.float(0), this.concat([batch, group, sequence, one], 0)]));
    }
    const joined = this.concat(parts, -1);
    const rows = builder.node('Mul', [sequence, group]);
    return builder.node('Reshape', [joined, this.concat([batch, one, rows, builder.integers([-1])], 0)]);
  }

  /** True where two new positions are of one image, `[batch, seq, seq]`. */
  private sameImage(): ValueName {
    const { builder } = this;
    const rows = this.unsqueeze('media_groups', [2]);
    const isSame = builder.node('Equal', [rows, this.unsqueeze('media_groups', [1])]);
    return builder.node('And', [isSame, builder.node('GreaterOrEqual', [rows, builder.integers(0)])]);
  }

  private attend(layer: number, projections: Projections): ValueName {
    const { body, builder } = this;
    const { shape } = body.options;
    const { heads, attention, latent } = shape;
    const past = this.pastOf(layer);
    const size = headSizeOf(shape, layer);
    const keyValueHeads = keyValueHeadsOf(shape, layer);
    const rotated = body.rotateQuery(layer, projections.query, this.positions);
    const query = body.splitHeads(rotated, heads, size);
    const owner = shape.sharedKeyValues?.[layer] ?? layer;
    const { key, value } = this.fresh.get(owner) ?? this.addKeyValues(layer, projections, size);

    // Query heads that share a key-value head become rows of one product: [batch, kv_heads, group * seq, head_dim].
    const grouped = builder.node('Reshape', [query, builder.integers([0, keyValueHeads, -1, size])]);
    const [pastKey, pastValue] = (latent ? ['latent', 'latent'] : ['key', 'value']).map(
      (part) => `${this.pastName(owner)}.${part}`,
    ) as [ValueName, ValueName];
    const products = [this.scores(grouped, pastKey), this.scores(grouped, key)];
    const sinks = attention?.sinks ? [body.sinkColumn(layer, this.scoreRows)] : [];
    const joined = this.joinScores(products, sinks);
    const scores = this.indexer
      ? this.maskUnchosen(joined, this.choiceOf(layer, this.indexer, projections.index))
      : builder.node('Add', [joined, past.mask]);
    const weights = builder.node('Softmax', [scores], { axis: -1 });
    const pastWeights = builder.freshName('past_weights');
    const newWeights = builder.freshName('new_weights');
    const rest = sinks.map(() => builder.freshName('sink_weights'));
    builder.nodeWithOutputs('Split', [weights, past.parts], [pastWeights, newWeights, ...rest], { axis: -1 });
    const context = builder.node('Add', [
      builder.node('MatMul', [pastWeights, pastValue]),
      builder.node('MatMul', [newWeights, value]),
    ]);
    return body.joinHeads(builder.node('Reshape', [context, this.contextShape(size)]), size);
  }

  private get indexer(): IndexerShape | undefined {
    return this.body.options.shape.latent?.indexer;
  }

  /** Returns the mask of the positions that a layer attends to, `[batch, 1, seq, capacity + seq]`. */
  private choiceOf(layer: number, indexer: IndexerShape, index: IndexProjections | undefined): ValueName {
    if (index !== undefined) this.choice = this.emitChoice(layer, indexer, index);
    if (this.choice === null) throw new Error(`Layer ${layer} has no choice of positions to reuse.`);
    return this.choice;
  }

  private emitChoice(layer: number, indexer: IndexerShape, { query, key, weights }: IndexProjections): ValueName {
    const { body, builder, positions, lengths } = this;
    const tables = body.rotaryTables(layer);
    if (tables === null) throw new Error(`Layer ${layer} has an indexer and does not rotate.`);
    const rotation = { positions, tables, dimensions: body.options.shape.rotary.dimensions };
    const fresh = this.unsqueeze(rotateIndex(builder, indexer, { input: key, heads: 1 }, rotation), [1]);
    this.newKeyValues.push(this.unsqueeze(this.padded(fresh, 1, indexer.size), [0]));
    const { mask, parts } = this.pastOf(layer);
    const candidates = {
      query: rotateIndex(builder, indexer, { input: query, heads: indexer.heads }, rotation),
      weights,
      keys: [`${this.pastName(layer)}.index`, fresh],
      mask,
      total: builder.node('ReduceSum', [parts, builder.integers([0])], { keepdims: 1 }),
      rows: this.concat([lengths.batch, lengths.sequence], 0),
    };
    return emitChoice(builder, indexer, candidates, builder.float(masked));
  }

  /** Adds a mask `[batch, 1, seq, keys]` to the scores of all heads, `[batch, 1, heads * seq, keys]`. */
  private maskUnchosen(scores: ValueName, mask: ValueName): ValueName {
    const { builder } = this;
    const byHead = builder.node('Reshape', [scores, builder.integers([0, this.body.options.shape.heads, -1, 0])]);
    return builder.node('Reshape', [builder.node('Add', [byHead, mask]), builder.integers([0, 1, -1, 0])]);
  }

  /** Adds the keys and values of a layer to the outputs, as they are cached. */
  private addKeyValues(layer: number, { key, value }: Projections, size: number): { key: ValueName; value: ValueName } {
    const { body } = this;
    if (key === null) throw new Error(`Layer ${layer} has no keys.`);
    const keyValueHeads = keyValueHeadsOf(body.options.shape, layer);
    const split = (input: ValueName) => body.splitHeads(input, keyValueHeads, size);
    const keys = split(body.rotateKey(layer, key, this.positions));
    const fresh = { key: keys, value: value === null ? keys : split(value) };
    for (const each of new Set([fresh.key, fresh.value])) {
      this.newKeyValues.push(this.unsqueeze(this.padded(each, keyValueHeads, size), [0]));
    }
    this.fresh.set(layer, fresh);
    return fresh;
  }

  /** Adds zeros behind heads and their values, `[batch, heads, seq, size]`, up to what a layer has at most. */
  private padded(input: ValueName, heads: number, size: number): ValueName {
    const { keyValueHeads } = this.body.options.shape;
    if (heads === keyValueHeads && size === this.freshSize) return input;
    const missing = [0, keyValueHeads - heads, 0, this.freshSize - size];
    return this.builder.node('Pad', [input, this.builder.integers([0, 0, 0, 0, ...missing])]);
  }

  /** Returns the shape of what attention gives, `[batch, heads, seq, size]`. */
  private contextShape(size: number): ValueName {
    const { builder, lengths } = this;
    const { heads } = this.body.options.shape;
    const parts = () => [lengths.batch, builder.integers([heads]), lengths.sequence, builder.integers([size])];
    const shape = this.contextShapes.get(size) ?? this.concat(parts(), 0);
    this.contextShapes.set(size, shape);
    return shape;
  }

  /** Joins scores, capped where the model caps them, and the columns of sinks in one copy. */
  private joinScores(products: ValueName[], sinks: ValueName[]): ValueName {
    const cap = this.body.options.shape.attention?.softCap;
    if (cap === undefined) return this.concat([...products, ...sinks], -1);
    const capped = this.body.softCapped(this.concat(products, -1), cap);
    return sinks.length === 0 ? capped : this.concat([capped, ...sinks], -1);
  }

  /**
   * Adds products of scaled queries and keys: `[batch, kv_heads, group * seq, keys]`. The scale is not passed as
   * `alpha`: the runtime has no single-row kernel for values other than 1, which doubles the time of these products.
   */
  private scores(grouped: ValueName, keys: ValueName): ValueName {
    return this.builder.contribNode('FusedMatMul', [grouped, keys], { transA: 0, transB: 1 });
  }

  /** Returns the length of an axis, as a vector of one. */
  private dimension(value: ValueName, axis: number): ValueName {
    return this.builder.node('Gather', [this.builder.node('Shape', [value]), this.builder.integers([axis])]);
  }

  private range(end: ValueName): ValueName {
    const scalar = this.builder.node('Squeeze', [end]);
    return this.builder.node('Range', [this.builder.integers(0), scalar, this.builder.integers(1)]);
  }

  private unsqueeze(value: ValueName, axes: number[]): ValueName {
    return this.builder.node('Unsqueeze', [value, this.builder.integers(axes)]);
  }

  private concat(values: ValueName[], axis: number): ValueName {
    return this.builder.node('Concat', values, { axis });
  }
}
