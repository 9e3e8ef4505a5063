import { GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { EncoderTensors } from './bert-files.js';
import { emitEncoderHead, type EncoderHead } from './encoder-head.js';
import { EncoderParts } from './encoder-parts.js';
import type { PartName } from './rotary-encoder.js';
import { emitLinearBias } from './token-distances.js';

/** Names of a layer's tensors behind `encoder.layer.<n>.`, without `.weight` and `.bias`. */
export interface AlibiNames {
  /** Norms of all queries and all keys; null: none. */
  queryNorm: string | null;
  keyNorm: string | null;
  /** Adds the input of the layer once more, behind the norm of attention; null: none. */
  secondNorm: string | null;
  /** The half that goes through the activation, and the one that it multiplies. */
  activated: PartName;
  multiplied: PartName;
  down: string;
  feedForwardNorm: string;
}

/** Sizes and settings that determine the graph of an encoder whose attention fades with distance (Jina v2). */
export interface AlibiShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  vocabularySize: number;
  /** Longest text in tokens. */
  positions: number;
  hasTypes: boolean;
  epsilon: number;
  names: AlibiNames;
}

export interface AlibiWeights {
  source: EncoderTensors;
  /** In front of all names of the encoder. */
  prefix: string;
}

/** Names that all layouts share. */
export const alibiNames = {
  words: 'embeddings.word_embeddings',
  types: 'embeddings.token_type_embeddings',
  embeddingNorm: 'embeddings.LayerNorm',
  layer: (layer: number) => `encoder.layer.${layer}.`,
  query: 'attention.self.query',
  key: 'attention.self.key',
  value: 'attention.self.value',
  output: 'attention.output.dense',
  attentionNorm: 'attention.output.LayerNorm',
} as const;

/**
 * Builds the encoder as one graph: `input_ids`, `attention_mask` to `last_hidden_state`, or with a head to
 * `sentence_embedding`. The graph computes the bias of its positions, so no table limits a text.
 */
export function emitAlibiEncoder(shape: AlibiShape, weights: AlibiWeights, head: EncoderHead | null = null): OnnxGraph {
  const builder = new GraphBuilder('encoder');
  const sizes = ['batch', 'sequence'];
  const ids = builder.input('input_ids', 'int64', sizes);
  const mask = builder.input('attention_mask', 'int64', sizes);
  const output = head === null ? 'last_hidden_state' : undefined;
  if (output !== undefined) builder.output(output, 'float32', [...sizes, shape.hiddenSize]);
  const emitter = new AlibiEmitter(builder, shape, weights);
  const hidden = emitter.emit(ids, mask, output);
  if (head !== null) emitEncoderHead(emitter.parts, head, { hidden, mask, size: shape.hiddenSize });
  return builder.build();
}

class AlibiEmitter {
  readonly parts: EncoderParts;

  constructor(
    private readonly builder: GraphBuilder,
    private readonly shape: AlibiShape,
    private readonly weights: AlibiWeights,
  ) {
    this.parts = new EncoderParts(builder, weights.source, shape.epsilon);
  }

  emit(ids: ValueName, mask: ValueName, output: string | undefined): ValueName {
    const { layers, heads, vocabularySize: rows, hiddenSize: columns, hasTypes } = this.shape;
    const shared = { mask: this.parts.toInt32(mask), bias: emitLinearBias(this.builder, ids, heads) };
    const words = this.name(`${alibiNames.words}.weight`);
    const types = hasTypes ? this.name(`${alibiNames.types}.weight`) : null;
    let hidden = this.norm(this.parts.embed(ids, { words, types, rows, columns }), alibiNames.embeddingNorm);
    for (let layer = 0; layer < layers; layer++) {
      hidden = this.layer(layer, hidden, { ...shared, output: layer + 1 === layers ? output : undefined });
    }
    return hidden;
  }

  private layer(
    layer: number,
    input: ValueName,
    { mask, bias, output }: { mask: ValueName; bias: ValueName; output: string | undefined },
  ): ValueName {
    const { hiddenSize: size, heads, names } = this.shape;
    const prefix = alibiNames.layer(layer);
    const linear = (name: string, value = input) =>
      this.linear(value, { name: prefix + name, inputs: size, outputs: size });
    const normed = (value: ValueName, norm: string | null) => (norm === null ? value : this.norm(value, prefix + norm));
    const added = (value: ValueName, through: ValueName) => this.builder.node('Add', [value, through]);
    const query = normed(linear(alibiNames.query), names.queryNorm);
    const key = normed(linear(alibiNames.key), names.keyNorm);
    const inputs = [query, key, linear(alibiNames.value), '', mask, bias];
    const mixed = this.builder.contribNode('MultiHeadAttention', inputs, { num_heads: heads });
    const attended = this.norm(added(input, linear(alibiNames.output, mixed)), prefix + alibiNames.attentionNorm);
    const middle = names.secondNorm === null ? attended : normed(added(input, attended), names.secondNorm);
    return this.norm(added(middle, this.feedForward(prefix, middle)), prefix + names.feedForwardNorm, output);
  }

  private feedForward(prefix: string, input: ValueName): ValueName {
    const { hiddenSize, feedForwardSize, names } = this.shape;
    const wide = ({ name, part }: PartName): ValueName =>
      this.linear(input, {
        name: prefix + name,
        inputs: hiddenSize,
        outputs: feedForwardSize,
        ...(part === undefined ? {} : { fromRow: part * feedForwardSize }),
      });
    const gate = this.parts.activate(wide(names.activated), 'gelu');
    const gated = this.builder.node('Mul', [gate, wide(names.multiplied)]);
    return this.linear(gated, { name: prefix + names.down, inputs: feedForwardSize, outputs: hiddenSize });
  }

  /** Adds a linear layer with its bias, if it has one. */
  private linear(
    input: ValueName,
    { name, ...sizes }: { name: string; inputs: number; outputs: number; fromRow?: number },
  ): ValueName {
    const product = this.parts.linear(input, { name: this.name(`${name}.weight`), ...sizes });
    const bias = this.name(`${name}.bias`);
    return this.weights.source.has(bias) ? this.parts.bias(product, { name: bias, ...sizes }) : product;
  }

  private norm(input: ValueName, name: string, output?: string): ValueName {
    return this.parts.layerNorm(input, { name: this.name(name), size: this.shape.hiddenSize, output });
  }

  private name(name: string): string {
    return this.weights.prefix + name;
  }
}
