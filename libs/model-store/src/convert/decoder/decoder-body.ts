import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { GraphBuilder, type ValueName } from '../../onnx/index.js';
import {
  attends,
  headSizeOf,
  keyValueHeadsOf,
  weightNames,
  type DecoderShape,
  type LayerPart,
  type RotaryShape,
} from './decoder-shape.js';
import { emitFeedForward } from './feed-forward.js';
import {
  embeddingContent,
  emitLinear,
  type LinearFormat,
  type LinearLayer,
  vectorContent,
  widestFormat,
} from './linear-layer.js';
import type { IndexProjections } from './indexer.js';
import { LayerInputs } from './layer-inputs.js';
import { LatentLayers } from './latent-attention.js';
import { AxisRotation, MediaInputs } from './media-inputs.js';
import { emitStreams } from './residual-streams.js';
import { type RotaryTables, RotaryTableSet } from './rotary-tables.js';
import { emitMixer, type LayerStates } from './mixer.js';
import { SharedTable } from './shared-table.js';
import type { WeightSource } from './weight-source.js';

export interface DecoderOptions {
  shape: DecoderShape;
  weights: WeightSource;
  linear: LinearFormat;
  /** Format of a single layer by its name; default: `linear`. */
  formatOf?: (layer: string) => LinearFormat;
  /** Format of the output layer; default: as the other layers. */
  head?: LinearFormat;
  /** Type of the embedding table; half precision if linear layers are quantised. */
  embedding: 'float32' | 'float16';
  /** Embeddings and output layer are one table, in the format of the output layer; see `canShareTable`. */
  sharesTable?: boolean;
}

/** Queries, keys and values of one layer before `rotate`, each `[batch, sequence, heads * headSize]`. */
export interface Projections {
  query: ValueName;
  /** Null: those of another layer, with the values. */
  key: ValueName | null;
  /** Null: the keys, as they are cached. */
  value: ValueName | null;
  /** Projections by which a layer chooses the positions that it attends to; absent: it has no indexer. */
  index?: IndexProjections;
}

/** Attention over the cache, which differs between the layouts. Returns `[batch, sequence, heads * headSize]`. */
export type Attention = (layer: number, projections: Projections) => ValueName;

type QueryTemperature = NonNullable<NonNullable<DecoderShape['attention']>['temperature']>;

/** A residual with a layer's output, and its norm. */
type Sum = Record<'sum' | 'normed', ValueName>;

/** Adds the layers of a decoder to a graph; the cache layouts differ only in `Attention`. */
export class DecoderBody {
  readonly builder: GraphBuilder;
  /** Type of the values between the layers. */
  readonly type: 'float32' | 'float16';
  /** Factor of the queries `[batch, sequence, 1]`, the scale included, where it depends on the position. */
  private queryFactors: ValueName | null = null;
  private readonly tables: RotaryTableSet;
  private readonly sharedTable: SharedTable | null;
  private readonly latents: LatentLayers | null;
  private readonly media: MediaInputs | null;
  private readonly axisRotation: AxisRotation | null;

  constructor(
    name: string,
    readonly options: DecoderOptions,
  ) {
    this.builder = new GraphBuilder(name);
    this.type = options.linear.kind === 'float16' ? 'float16' : 'float32';
    this.tables = new RotaryTableSet(this.builder, this.type, options.shape.contextLength);
    this.sharedTable = options.sharesTable ? this.shareTable(options) : null;
    const { latent, media } = options.shape;
    this.latents = latent ? new LatentLayers(this, latent) : null;
    this.media = media ? new MediaInputs(this.builder, options.shape, media) : null;
    this.axisRotation = media?.rotaryAxes ? new AxisRotation(this.builder, media.rotaryAxes) : null;
  }

  /**
   * Adds everything from `input_ids` to the final norm: `[batch, sequence, hidden]`. Layouts without `states` have only
   * layers that attend.
   */
  emitLayers(attention: Attention, states?: LayerStates): ValueName {
    const { shape } = this.options;
    const embedded = this.scaled(this.emitEmbedding(), shape.scales?.embedding);
    if (shape.residualStreams) {
      return emitStreams(this, embedded, (layer, input) => this.attentionBlock(layer, input, attention));
    }
    let residual = this.media?.replace(embedded) ?? embedded;
    const inputs = shape.layerInputs ? new LayerInputs(this, residual, shape.layerInputs) : null;
    let normed = this.firstNorm(residual);
    for (let layer = 0; layer < shape.layers; layer++) {
      const isFeedForward = shape.mixers?.[layer]?.kind === 'none';
      const attended = isFeedForward
        ? emitFeedForward(this, layer, { residual, normed })
        : this.firstHalf(layer, normed, attention, states);
      let delta: ValueName;
      if (shape.oneHalf) delta = attended;
      else if (shape.parallelResidual) {
        delta = this.builder.node('Add', [attended, emitFeedForward(this, layer, { residual, normed })]);
      } else {
        const middle = this.addHalf(residual, attended, layer, 'attention_post_norm', 'feed_forward_norm');
        residual = middle.sum;
        delta = emitFeedForward(this, layer, { residual, normed: middle.normed });
      }
      ({ sum: residual, normed } = this.endLayer(layer, residual, delta, inputs));
    }
    return normed;
  }

  /** Adds the second half of a layer, and what the layer adds to it, and norms the sum for the next one. */
  private endLayer(layer: number, residual: ValueName, delta: ValueName, inputs: LayerInputs | null): Sum {
    const { layers, layerScale } = this.options.shape;
    if (!inputs && !layerScale) {
      const deep = this.media?.addDeep(layer, residual) ?? residual;
      return this.addHalf(deep, delta, layer, 'feed_forward_post_norm', 'attention_norm');
    }
    const post = this.normed(delta, weightNames.layer(layer, 'feed_forward_post_norm'));
    const after = this.builder.node('Add', [residual, post]);
    const full = inputs ? this.builder.node('Add', [after, inputs.vectorFor(layer, after)]) : after;
    const scale = layerScale && this.vector(weightNames.layer(layer, 'layer_scale'), 1);
    const sum = scale ? this.builder.node('Mul', [full, scale]) : full;
    const next = layer + 1 === layers ? weightNames.finalNorm : weightNames.layer(layer + 1, 'attention_norm');
    return { sum, normed: this.normed(sum, next) };
  }

  private firstHalf(layer: number, input: ValueName, attention: Attention, states?: LayerStates): ValueName {
    const mixer = this.options.shape.mixers?.[layer];
    if (!mixer || mixer.kind === 'none') return this.attentionBlock(layer, input, attention);
    if (!states) throw new Error('This layout has no layers with a state.');
    const mixed = emitMixer(this, { layer, mixer, input, states });
    return attends(mixer) ? this.builder.node('Add', [this.attentionBlock(layer, input, attention), mixed]) : mixed;
  }

  /** Adds the output layer over the final norm. */
  emitHead(hidden: ValueName): ValueName {
    const { shape } = this.options;
    const layer = { name: weightNames.head, inputs: shape.hiddenSize, outputs: shape.vocabularySize };
    const logits = this.sharedTable
      ? this.withBias(this.sharedTable.product(hidden), layer, shape.bias.head)
      : this.linear(hidden, layer, shape.bias.head, this.options.head);
    return this.softCapped(this.scaled(logits, shape.scales?.logits), shape.logitSoftCap);
  }

  /** Adds the rotary tables of a layer, once for all that share them; null if the layer does not rotate. */
  rotaryTables(layer: number): RotaryTables | null {
    const { rotary, attention } = this.options.shape;
    if (attention?.unrotated?.[layer]) return null;
    const shape = this.windowOf(layer)?.rotary ?? rotary;
    return this.tables.of(shape);
  }

  /** Adds queries for the products, `[batch, sequence, heads * headSize]`: rotated by their positions and scaled. */
  rotateQuery(layer: number, query: ValueName, positions: ValueName): ValueName {
    const { heads, normsRotated, attention } = this.options.shape;
    const tables = this.rotaryTables(layer);
    const place = { heads, layer };
    // A norm after the rotation would undo a scale before it.
    if (attention?.rotatedNorm && tables !== null) {
      const rotated = this.rotate(query, place, positions, tables);
      return this.scaleQuery(this.plainNorm(rotated, heads, layer), positions, layer);
    }
    if (!normsRotated) return this.rotate(this.scaleQuery(query, positions, layer), place, positions, tables);
    const normed = this.headNorm(this.rotate(query, place, positions, tables), heads, layer, 'query');
    return this.scaleQuery(normed, positions, layer);
  }

  /** Adds keys for the cache, `[batch, sequence, heads * headSize]`: rotated by their positions. */
  rotateKey(layer: number, key: ValueName, positions: ValueName): ValueName {
    const { normsRotated, attention } = this.options.shape;
    const keyValueHeads = keyValueHeadsOf(this.options.shape, layer);
    const tables = this.rotaryTables(layer);
    const rotated = this.rotate(key, { heads: keyValueHeads, layer }, positions, tables);
    if (attention?.rotatedNorm && tables !== null) return this.plainNorm(rotated, keyValueHeads, layer);
    return normsRotated ? this.headNorm(rotated, keyValueHeads, layer, 'key') : rotated;
  }

  private rotate(
    input: ValueName,
    { heads, layer }: { heads: number; layer: number },
    positions: ValueName,
    tables: RotaryTables | null,
  ): ValueName {
    if (tables === null) return input;
    const rotary = this.windowOf(layer)?.rotary ?? this.options.shape.rotary;
    const headSize = headSizeOf(this.options.shape, layer);
    const { cosines, sines } = this.axisRotation?.tables(tables) ?? tables;
    const places = this.axisRotation?.places ?? positions;
    return this.builder.contribNode('RotaryEmbedding', [input, places, cosines, sines], {
      num_heads: heads,
      interleaved: this.options.shape.rotary.interleaved ? 1 : 0,
      ...(rotary.dimensions < headSize ? { rotary_embedding_dim: rotary.dimensions } : {}),
    });
  }

  /** Scales queries, by their positions where these count. */
  private scaleQuery(query: ValueName, positions: ValueName, layer: number): ValueName {
    const temperature = this.options.shape.attention?.temperature;
    const applies = temperature && (!temperature.unrotatedOnly || this.rotaryTables(layer) === null);
    if (!applies) return this.builder.node('Mul', [query, this.scalar(this.attentionScale)]);
    this.queryFactors ??= this.emitQueryFactors(positions, temperature);
    return this.builder.node('Mul', [query, this.queryFactors]);
  }

  /** Null if the layer's tokens see the whole context. */
  windowOf(layer: number): { size: number; rotary: RotaryShape } | null {
    const window = this.options.shape.attention?.window;
    return window?.layers[layer] ? window : null;
  }

  /** Adds the last position before a token that it does not see in a layer with a window. */
  lastHidden(positions: ValueName, window: number): ValueName {
    const { builder } = this;
    const size = builder.integers(window);
    if (!this.options.shape.attention?.window?.chunked) return builder.node('Sub', [positions, size]);
    const start = builder.node('Mul', [builder.node('Div', [positions, size]), size]);
    return builder.node('Sub', [start, builder.integers(1)]);
  }

  /** Factor of the products of queries and keys. */
  private get attentionScale(): number {
    const { attention, headSize } = this.options.shape;
    return attention?.scale ?? 1 / Math.sqrt(headSize);
  }

  /** Returns `cap * tanh(value / cap)`, or the value without a cap. */
  softCapped(value: ValueName, cap: number | undefined): ValueName {
    if (cap === undefined) return value;
    const bounded = this.builder.node('Tanh', [this.builder.node('Mul', [value, this.scalar(1 / cap)])]);
    return this.builder.node('Mul', [bounded, this.scalar(cap)]);
  }

  /**
   * Returns the sinks of a layer as one more column of scores, `[batch, kv_heads, rows, 1]` for rows of the given shape
   * `[batch, kv_heads, group, sequence]`, beside scores whose rows are
   * those of the heads that share a key-value head, one after the other.
   */
  sinkColumn(layer: number, rows: ValueName): ValueName {
    const { builder } = this;
    const { heads, keyValueHeads } = this.options.shape;
    const sinks = this.vector(weightNames.layer(layer, 'sinks'), heads);
    const group = heads / keyValueHeads;
    const perHead = builder.node('Reshape', [sinks, builder.integers([1, keyValueHeads, group, 1])]);
    const spread = builder.node('Expand', [perHead, rows]);
    return builder.node('Reshape', [spread, builder.integers([0, 0, -1, 1])]);
  }

  /** `[batch, sequence, heads * headSize]` → `[batch, heads, sequence, headSize]`. */
  splitHeads(input: ValueName, heads: number, size = this.options.shape.headSize): ValueName {
    const shape = this.builder.integers([0, 0, heads, size]);
    return this.builder.node('Transpose', [this.builder.node('Reshape', [input, shape])], { perm: [0, 2, 1, 3] });
  }

  /** `[batch, heads, sequence, headSize]` → `[batch, sequence, heads * headSize]`. */
  joinHeads(input: ValueName, headSize = this.options.shape.headSize): ValueName {
    const { heads } = this.options.shape;
    const transposed = this.builder.node('Transpose', [input], { perm: [0, 2, 1, 3] });
    return this.builder.node('Reshape', [transposed, this.builder.integers([0, 0, heads * headSize])]);
  }

  /** Adds a constant of the type between the layers. */
  scalar(value: number): ValueName {
    return this.cast(this.builder.float(value));
  }

  private emitQueryFactors(positions: ValueName, { scale, length, offset = 0 }: QueryTemperature): ValueName {
    const { builder, attentionScale } = this;
    const { contextLength } = this.options.shape;
    const compute = () =>
      Promise.resolve(
        Float32Array.from(
          { length: contextLength },
          (_, position) => attentionScale * (1 + scale * Math.log1p(Math.floor((position + offset) / length))),
        ),
      );
    const content = vectorContent({ vector: compute, rows: compute }, this.type, 'query_factors');
    const table = builder.weight('query_factors', this.type, [contextLength], content);
    return builder.node('Unsqueeze', [builder.node('Gather', [table, positions]), builder.integers([2])]);
  }

  private shareTable({ shape, weights, head }: DecoderOptions): SharedTable {
    const layer = { name: weightNames.head, inputs: shape.hiddenSize, outputs: shape.vocabularySize };
    return new SharedTable(this.builder, weights, head ?? this.formatOf([layer.name]), layer);
  }

  private emitEmbedding(): ValueName {
    const { shape, weights, embedding } = this.options;
    const table = { name: weightNames.embedding, inputs: shape.hiddenSize, outputs: shape.vocabularySize };
    const sharedRows = this.sharedTable?.rows('input_ids') ?? null;
    if (sharedRows !== null) return sharedRows;
    const dimensions = [table.outputs, table.inputs];
    const content = embeddingContent(weights, embedding, table);
    const weight = this.builder.weight(table.name, embedding, dimensions, content);
    return this.cast(this.builder.node('Gather', [weight, 'input_ids']), embedding);
  }

  private attentionBlock(layer: number, input: ValueName, attention: Attention): ValueName {
    if (this.latents) {
      return this.latents.emit(layer, input, (projections) => attention(layer, { ...projections, value: null }));
    }
    const { hiddenSize, heads, bias, attention: settings, sharedKeyValues, keysAsValues } = this.options.shape;
    const keyValueHeads = keyValueHeadsOf(this.options.shape, layer);
    const headSize = headSizeOf(this.options.shape, layer);
    const part = (name: LayerPart, count: number) => {
      const weight = weightNames.layer(layer, name);
      return this.linear(input, { name: weight, inputs: hiddenSize, outputs: count * headSize }, bias.queryKeyValue);
    };
    const normed = (name: 'query' | 'key', projection: ValueName, count: number) =>
      this.options.shape.normsRotated ? projection : this.headNorm(projection, count, layer, name);
    const { query: plainQuery, gate } = settings?.outputGate
      ? this.splitGate(part('query', 2 * heads))
      : { query: part('query', heads), gate: null };
    const query = normed('query', plainQuery, heads);
    const isShared = (sharedKeyValues?.[layer] ?? null) !== null;
    const plainKey = isShared ? null : part('key', keyValueHeads);
    const key = plainKey && normed('key', plainKey, keyValueHeads);
    const plainValue = plainKey && (keysAsValues?.[layer] ? plainKey : part('value', keyValueHeads));
    const value = plainValue && this.valueNorm(plainValue, keyValueHeads, layer);
    const context = attention(layer, { query, key, value });
    const output = {
      name: weightNames.layer(layer, 'attention_output'),
      inputs: heads * headSize,
      outputs: hiddenSize,
    };
    const gated = gate === null ? context : this.builder.node('Mul', [context, this.builder.node('Sigmoid', [gate])]);
    return this.linear(gated, output, bias.attentionOutput);
  }

  /** Splits queries from their gates, which follow the query of each head. */
  private splitGate(input: ValueName): { query: ValueName; gate: ValueName } {
    const { builder } = this;
    const { heads, headSize } = this.options.shape;
    const perHead = builder.node('Reshape', [input, builder.integers([0, 0, heads, 2 * headSize])]);
    const parts = [builder.freshName('query'), builder.freshName('gate')];
    builder.nodeWithOutputs('Split', [perHead, builder.integers([headSize, headSize])], parts, { axis: -1 });
    const [query = '', gate = ''] = parts.map((part) =>
      builder.node('Reshape', [part, builder.integers([0, 0, heads * headSize])]),
    );
    return { query, gate };
  }

  private headNorm(input: ValueName, heads: number, layer: number, part: 'query' | 'key'): ValueName {
    const { queryKeyNorm, norm } = this.options.shape;
    const headSize = headSizeOf(this.options.shape, layer);
    const { builder } = this;
    if (queryKeyNorm === 'none') return input;
    const weight = weightNames.layer(layer, `${part}_norm`);
    const attributes = { axis: -1, epsilon: { float: norm.epsilon } };
    const width = heads * headSize;
    if (queryKeyNorm === 'all-heads') {
      return builder.node('SimplifiedLayerNormalization', [input, this.vector(weight, width)], attributes);
    }
    const perHead = builder.node('Reshape', [input, builder.integers([0, 0, heads, headSize])]);
    const isShared = queryKeyNorm === 'head';
    const gain = isShared ? this.vector(weight, headSize) : this.ones(headSize);
    const operator = isShared ? 'SimplifiedLayerNormalization' : 'LayerNormalization';
    const normed = builder.node(operator, [perHead, gain], attributes);
    const joined = builder.node('Reshape', [normed, builder.integers([0, 0, width])]);
    return isShared ? joined : builder.node('Mul', [joined, this.vector(weight, width)]);
  }

  private valueNorm(input: ValueName, heads: number, layer: number): ValueName {
    return this.options.shape.valueNorm ? this.plainNorm(input, heads, layer) : input;
  }

  /** Norms each head without gains. */
  private plainNorm(input: ValueName, heads: number, layer: number): ValueName {
    const { builder } = this;
    const size = headSizeOf(this.options.shape, layer);
    const perHead = builder.node('Reshape', [input, builder.integers([0, 0, heads, size])]);
    const attributes = { axis: -1, epsilon: { float: this.options.shape.norm.epsilon } };
    const normed = builder.node('SimplifiedLayerNormalization', [perHead, this.ones(size)], attributes);
    return builder.node('Reshape', [normed, builder.integers([0, 0, heads * size])]);
  }

  /** Adds the activation of the gate, times the other half. */
  gated(gate: ValueName, up: ValueName): ValueName {
    return this.builder.node('Mul', [this.activated(gate), up]);
  }

  /** `QuickGelu` with alpha 1 is exactly `x * sigmoid(x)`, in one kernel. */
  activated(input: ValueName): ValueName {
    const { kind } = this.options.shape.feedForward;
    if (kind === 'relu-squared') {
      const positive = this.builder.node('Relu', [input]);
      return this.builder.node('Mul', [positive, positive]);
    }
    if (kind === 'gated-silu') return this.builder.contribNode('QuickGelu', [input], { alpha: { float: 1 } });
    return this.builder.contribNode(kind.endsWith('gelu-tanh') ? 'FastGelu' : 'Gelu', [input]);
  }

  /** Returns the format of layers that are computed as one. */
  formatOf(names: readonly string[]): LinearFormat {
    const { linear, formatOf } = this.options;
    return formatOf ? widestFormat(names.map(formatOf)) : linear;
  }

  /** Adds a linear layer of the weights, with its bias. */
  linear(input: ValueName, layer: LinearLayer, hasBias: boolean, format = this.formatOf([layer.name])): ValueName {
    return this.withBias(emitLinear(this.builder, this.options.weights, format, input, layer), layer, hasBias);
  }

  private withBias(product: ValueName, layer: LinearLayer, hasBias: boolean): ValueName {
    if (!hasBias) return product;
    return this.builder.node('Add', [product, this.vector(weightNames.bias(layer.name), layer.outputs)]);
  }

  private firstNorm(input: ValueName): ValueName {
    if (this.options.shape.normPlacement === 'after') return input;
    return this.normed(input, weightNames.layer(0, 'attention_norm'));
  }

  /** Adds a norm over the whole width. */
  normed(input: ValueName, name: string): ValueName {
    const { kind, epsilon } = this.options.shape.norm;
    const operator = kind === 'rms' ? 'SimplifiedLayerNormalization' : 'LayerNormalization';
    const attributes = { axis: -1, epsilon: { float: epsilon } };
    return this.builder.node(operator, [input, ...this.normParameters(name)], attributes);
  }

  /**
   * Adds the result of one half of a layer to the residual, and what the next half reads: the sum, or its norm. After
   * the last layer this is the final norm.
   */
  private addHalf(
    residual: ValueName,
    result: ValueName,
    layer: number,
    postNorm: LayerPart,
    nextNorm: LayerPart,
  ): Sum {
    const { layers, normPlacement = 'before', scales } = this.options.shape;
    const post = normPlacement === 'before' ? result : this.normed(result, weightNames.layer(layer, postNorm));
    const delta = this.scaled(post, scales?.residual);
    const isNextLayer = nextNorm === 'attention_norm';
    if (isNextLayer && layer + 1 === layers) return this.addAndNorm(residual, delta, weightNames.finalNorm);
    if (normPlacement !== 'after') {
      return this.addAndNorm(residual, delta, weightNames.layer(isNextLayer ? layer + 1 : layer, nextNorm));
    }
    const sum = this.builder.node('Add', [residual, delta]);
    return { sum, normed: sum };
  }

  /** Adds one kernel for `sum = residual + delta` and its norm. */
  private addAndNorm(residual: ValueName, delta: ValueName, norm: string): Sum {
    const { kind, epsilon } = this.options.shape.norm;
    const operator = kind === 'rms' ? 'SkipSimplifiedLayerNormalization' : 'SkipLayerNormalization';
    const normed = this.builder.freshName(norm);
    const sum = this.builder.freshName('residual');
    const inputs = [residual, delta, ...this.normParameters(norm)];
    const attributes = { epsilon: { float: epsilon } };
    this.builder.contribNodeWithOutputs(operator, inputs, [normed, '', '', sum], attributes);
    return { sum, normed };
  }

  private normParameters(name: string): ValueName[] {
    const { hiddenSize, norm } = this.options.shape;
    const gain = this.vector(name, hiddenSize);
    const hasBias = norm.kind === 'layer' && norm.bias !== false;
    return hasBias ? [gain, this.vector(weightNames.bias(name), hiddenSize)] : [gain];
  }

  private scaled(value: ValueName, factor: number | undefined): ValueName {
    return factor === undefined ? value : this.builder.node('Mul', [value, this.scalar(factor)]);
  }

  /** Adds a vector of the weights. */
  vector(name: string, size: number): ValueName {
    return this.builder.weight(name, this.type, [size], vectorContent(this.options.weights, this.type, name));
  }

  private ones(size: number): ValueName {
    return this.builder.node('Expand', [this.scalar(1), this.builder.integers([size])]);
  }

  /** Returns a value in the type between the layers. */
  cast(value: ValueName, from: 'float32' | 'float16' = 'float32'): ValueName {
    if (this.type === from) return value;
    return this.builder.node('Cast', [value], { to: onnxDataTypeCode[this.type] });
  }
}
