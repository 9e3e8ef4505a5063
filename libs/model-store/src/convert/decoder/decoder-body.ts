import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { GraphBuilder, type ValueName } from '../../onnx/index.js';
import { weightNames, type DecoderShape, type LayerPart } from './decoder-shape.js';
import { embeddingContent, emitLinear, vectorContent, type LinearFormat, type LinearLayer } from './linear-layer.js';
import type { WeightSource } from './weight-source.js';

export interface DecoderOptions {
  shape: DecoderShape;
  weights: WeightSource;
  linear: LinearFormat;
  /** Format of the output layer; default: as the other layers. */
  head?: LinearFormat;
  /** Type of the embedding table; half precision if linear layers are quantised. */
  embedding: 'float32' | 'float16';
}

/** Queries, keys and values of one layer before rotation, each `[batch, sequence, heads * headSize]`. */
export interface Projections {
  query: ValueName;
  key: ValueName;
  value: ValueName;
}

/** Attention over the cache, which differs between the layouts. Returns `[batch, sequence, heads * headSize]`. */
export type Attention = (layer: number, projections: Projections) => ValueName;

/** Adds the layers of a decoder to a graph; the cache layouts differ only in `Attention`. */
export class DecoderBody {
  readonly builder: GraphBuilder;
  /** Type of the values between the layers. */
  readonly type: 'float32' | 'float16';

  constructor(
    name: string,
    readonly options: DecoderOptions,
  ) {
    this.builder = new GraphBuilder(name);
    this.type = options.linear.kind === 'float16' ? 'float16' : 'float32';
  }

  /** Adds everything from `input_ids` to the final norm: `[batch, sequence, hidden]`. */
  emitLayers(attention: Attention): ValueName {
    const { shape } = this.options;
    let residual = this.emitEmbedding();
    let normed = this.firstNorm(residual);
    for (let layer = 0; layer < shape.layers; layer++) {
      const attended = this.attentionBlock(layer, normed, attention);
      let delta: ValueName;
      if (shape.parallelResidual) {
        delta = this.builder.node('Add', [attended, this.feedForward(layer, normed)]);
      } else {
        const middle = this.addAndNorm(residual, attended, weightNames.layer(layer, 'feed_forward_norm'));
        residual = middle.sum;
        delta = this.feedForward(layer, middle.normed);
      }
      const isLast = layer + 1 === shape.layers;
      const next = isLast ? weightNames.finalNorm : weightNames.layer(layer + 1, 'attention_norm');
      ({ sum: residual, normed } = this.addAndNorm(residual, delta, next));
    }
    return normed;
  }

  /** Adds the output layer over the final norm. */
  emitHead(hidden: ValueName): ValueName {
    const { shape } = this.options;
    const layer = { name: weightNames.head, inputs: shape.hiddenSize, outputs: shape.vocabularySize };
    return this.linear(hidden, layer, shape.bias.head, this.options.head);
  }

  /** Adds the rotary tables, `[context, dimensions / 2]` each. */
  emitRotaryTables(): { cosines: ValueName; sines: ValueName } {
    const { contextLength, rotary } = this.options.shape;
    const half = rotary.dimensions / 2;
    const table = (name: string, wave: (angle: number) => number) => {
      const values = new Float32Array(contextLength * half);
      for (let index = 0; index < values.length; index++) {
        const pair = index % half;
        const frequency = rotary.base ** (-pair / half) / (rotary.frequencyFactors?.[pair] ?? 1);
        values[index] = wave(Math.floor(index / half) * frequency);
      }
      const source = { vector: () => Promise.resolve(values), rows: () => Promise.resolve(values) };
      return this.builder.weight(name, this.type, [contextLength, half], vectorContent(source, this.type, name));
    };
    return { cosines: table('rotary_cosines', Math.cos), sines: table('rotary_sines', Math.sin) };
  }

  /** Rotates `[batch, sequence, heads * headSize]` by the positions `[batch, sequence]`. */
  rotate(input: ValueName, heads: number, positions: ValueName, tables: { cosines: string; sines: string }): ValueName {
    const { headSize, rotary } = this.options.shape;
    return this.builder.contribNode('RotaryEmbedding', [input, positions, tables.cosines, tables.sines], {
      num_heads: heads,
      interleaved: 0,
      ...(rotary.dimensions < headSize ? { rotary_embedding_dim: rotary.dimensions } : {}),
    });
  }

  /** `[batch, sequence, heads * headSize]` → `[batch, heads, sequence, headSize]`. */
  splitHeads(input: ValueName, heads: number): ValueName {
    const shape = this.builder.integers([0, 0, heads, this.options.shape.headSize]);
    return this.builder.node('Transpose', [this.builder.node('Reshape', [input, shape])], { perm: [0, 2, 1, 3] });
  }

  /** `[batch, heads, sequence, headSize]` → `[batch, sequence, heads * headSize]`. */
  joinHeads(input: ValueName): ValueName {
    const { heads, headSize } = this.options.shape;
    const transposed = this.builder.node('Transpose', [input], { perm: [0, 2, 1, 3] });
    return this.builder.node('Reshape', [transposed, this.builder.integers([0, 0, heads * headSize])]);
  }

  /** Adds a constant of the type between the layers. */
  scalar(value: number): ValueName {
    return this.cast(this.builder.float(value));
  }

  private emitEmbedding(): ValueName {
    const { shape, weights, embedding } = this.options;
    const table = { name: weightNames.embedding, inputs: shape.hiddenSize, outputs: shape.vocabularySize };
    const dimensions = [table.outputs, table.inputs];
    const content = embeddingContent(weights, embedding, table);
    const weight = this.builder.weight(table.name, embedding, dimensions, content);
    const rows = this.builder.node('Gather', [weight, 'input_ids']);
    if (embedding === this.type) return rows;
    return this.builder.node('Cast', [rows], { to: onnxDataTypeCode[this.type] });
  }

  private attentionBlock(layer: number, input: ValueName, attention: Attention): ValueName {
    const { hiddenSize, heads, keyValueHeads, headSize, bias } = this.options.shape;
    const part = (name: LayerPart, count: number) => {
      const weight = weightNames.layer(layer, name);
      return this.linear(input, { name: weight, inputs: hiddenSize, outputs: count * headSize }, bias.queryKeyValue);
    };
    const query = this.headNorm(part('query', heads), heads, weightNames.layer(layer, 'query_norm'));
    const key = this.headNorm(part('key', keyValueHeads), keyValueHeads, weightNames.layer(layer, 'key_norm'));
    const context = attention(layer, { query, key, value: part('value', keyValueHeads) });
    const output = {
      name: weightNames.layer(layer, 'attention_output'),
      inputs: heads * headSize,
      outputs: hiddenSize,
    };
    return this.linear(context, output, bias.attentionOutput);
  }

  private headNorm(input: ValueName, heads: number, weight: string): ValueName {
    const { queryKeyNorm, headSize, norm } = this.options.shape;
    if (!queryKeyNorm) return input;
    const perHead = this.builder.node('Reshape', [input, this.builder.integers([0, 0, heads, headSize])]);
    const normed = this.builder.node('SimplifiedLayerNormalization', [perHead, this.vector(weight, headSize)], {
      axis: -1,
      epsilon: { float: norm.epsilon },
    });
    return this.builder.node('Reshape', [normed, this.builder.integers([0, 0, heads * headSize])]);
  }

  private feedForward(layer: number, input: ValueName): ValueName {
    const { hiddenSize, feedForward, bias } = this.options.shape;
    const { kind, size } = feedForward;
    const widen = (part: LayerPart) =>
      this.linear(input, { name: weightNames.layer(layer, part), inputs: hiddenSize, outputs: size }, bias.feedForward);
    const activated = kind === 'gated-silu' ? this.gatedSilu(widen('gate'), widen('up')) : this.gelu(widen('up'), kind);
    const down = { name: weightNames.layer(layer, 'down'), inputs: size, outputs: hiddenSize };
    return this.linear(activated, down, bias.feedForward);
  }

  /** `QuickGelu` with alpha 1 is exactly `x * sigmoid(x)`, in one kernel. */
  private gatedSilu(gate: ValueName, up: ValueName): ValueName {
    return this.builder.node('Mul', [this.builder.contribNode('QuickGelu', [gate], { alpha: { float: 1 } }), up]);
  }

  private gelu(input: ValueName, kind: 'gelu' | 'gelu-tanh'): ValueName {
    return this.builder.contribNode(kind === 'gelu' ? 'Gelu' : 'FastGelu', [input]);
  }

  private linear(input: ValueName, layer: LinearLayer, hasBias: boolean, format = this.options.linear): ValueName {
    const product = emitLinear(this.builder, this.options.weights, format, input, layer);
    if (!hasBias) return product;
    return this.builder.node('Add', [product, this.vector(weightNames.bias(layer.name), layer.outputs)]);
  }

  private firstNorm(input: ValueName): ValueName {
    const { kind, epsilon } = this.options.shape.norm;
    const operator = kind === 'rms' ? 'SimplifiedLayerNormalization' : 'LayerNormalization';
    const parameters = this.normParameters(weightNames.layer(0, 'attention_norm'));
    return this.builder.node(operator, [input, ...parameters], { axis: -1, epsilon: { float: epsilon } });
  }

  /** Adds one kernel for `sum = residual + delta` and its norm. */
  private addAndNorm(residual: ValueName, delta: ValueName, norm: string): { sum: ValueName; normed: ValueName } {
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
    return norm.kind === 'rms' ? [gain] : [gain, this.vector(weightNames.bias(name), hiddenSize)];
  }

  private vector(name: string, size: number): ValueName {
    return this.builder.weight(name, this.type, [size], vectorContent(this.options.weights, this.type, name));
  }

  private cast(value: ValueName): ValueName {
    if (this.type === 'float32') return value;
    return this.builder.node('Cast', [value], { to: onnxDataTypeCode[this.type] });
  }
}
