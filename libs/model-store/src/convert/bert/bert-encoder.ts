import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import type { WeightSource } from '../decoder/index.js';
import { emitEncoderHead, type EncoderHead } from './encoder-head.js';
import { EncoderParts } from './encoder-parts.js';
import { emitRelativeBias } from './relative-bias.js';

/** Names of a layer's tensors behind `encoder.layer.<n>.`. */
export interface BertLayerNames {
  query: string;
  key: string;
  value: string;
  output: string;
  attentionNorm: string;
}

/** Sizes and settings that determine the graph of a BERT encoder or of one of its relatives. */
export interface BertShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  vocabularySize: number;
  /** Longest text in tokens. */
  positions: number;
  /** Rows of the position table before that of the first token. */
  positionOffset: number;
  /** Number of segment types; 0: there are none. */
  tokenTypes: number;
  /** True if segment types are an input. Otherwise every token is of the first type. */
  takesTypes: boolean;
  /** True if attention depends on the distance between tokens. */
  relativeBuckets: number | null;
  epsilon: number;
  activation: 'gelu' | 'gelu-tanh';
  names: BertLayerNames;
}

/** Tensor names of PyTorch; `prefix` is `bert.` if the encoder is a part of a larger model. */
export interface BertWeights {
  source: WeightSource;
  prefix: string;
}

/** Values of the graph that the encoder starts from: `[batch, sequence]`, 64-bit, except for the mask. */
export interface BertInputs {
  ids: ValueName;
  /** 1 for tokens, 0 for padding. */
  mask: ValueName;
  /** Absent for models without segment types as an input. */
  types?: ValueName;
  /** Name of the result; a fresh one by default. */
  output?: string;
}

/**
 * Builds the encoder as one graph: `input_ids`, `attention_mask` and, where the model takes them, `token_type_ids` to
 * `last_hidden_state`, without the pooler, which sentence encoders do not use; with a head to `logits` or
 * `sentence_embedding`. Attention and activations are onnxruntime's fused kernels.
 */
export function emitBertEncoder(shape: BertShape, weights: BertWeights, head: EncoderHead | null = null): OnnxGraph {
  const builder = new GraphBuilder('bert');
  const sizes = ['batch', 'sequence'];
  const ids = builder.input('input_ids', 'int64', sizes);
  const mask = builder.input('attention_mask', 'int64', sizes);
  const types = shape.takesTypes ? builder.input('token_type_ids', 'int64', sizes) : undefined;
  const output = head === null ? 'last_hidden_state' : undefined;
  if (output !== undefined) builder.output(output, 'float32', [...sizes, shape.hiddenSize]);
  const hidden = emitBertLayers(builder, { shape, weights }, { ids, mask, types, output });
  if (head === null) return builder.build();
  emitEncoderHead(new EncoderParts(builder, weights.source, shape.epsilon), head, {
    hidden,
    mask,
    size: shape.hiddenSize,
  });
  return builder.build();
}

/** Adds the encoder to a graph and returns the name of its result, `[batch, sequence, hidden]`. */
export function emitBertLayers(
  builder: GraphBuilder,
  { shape, weights }: { shape: BertShape; weights: BertWeights },
  inputs: BertInputs,
): ValueName {
  return new BertEncoderEmitter(builder, shape, weights).emit(inputs);
}

class BertEncoderEmitter {
  private readonly parts: EncoderParts;

  constructor(
    private readonly builder: GraphBuilder,
    private readonly shape: BertShape,
    private readonly weights: BertWeights,
  ) {
    this.parts = new EncoderParts(builder, weights.source, shape.epsilon);
  }

  emit({ ids, mask, types, output }: BertInputs): ValueName {
    const { layers } = this.shape;
    const shortMask = this.parts.toInt32(mask);
    let hidden = this.embed(ids, types);
    const bias = this.relativeBias(ids);
    for (let layer = 0; layer < layers; layer++) {
      const last = layer + 1 === layers ? output : undefined;
      hidden = this.layer(layer, { input: hidden, mask: shortMask, bias, output: last });
    }
    return hidden;
  }

  private embed(ids: ValueName, types: ValueName | undefined): ValueName {
    const { vocabularySize, hiddenSize, tokenTypes, epsilon } = this.shape;
    const words = this.parts.table(this.name('embeddings.word_embeddings.weight'), vocabularySize, hiddenSize);
    const positions = this.positionTable();
    const typeTable = this.name('embeddings.token_type_embeddings.weight');
    const [segments, segmentTable] =
      types === undefined ? ['', ''] : [this.parts.toInt32(types), this.parts.table(typeTable, tokenTypes, hiddenSize)];
    const norm = [this.vector('embeddings.LayerNorm.weight'), this.vector('embeddings.LayerNorm.bias')];
    const inputs = [this.parts.toInt32(ids), segments, words, positions, segmentTable, ...norm];
    const outputs = [this.builder.freshName('embedded'), this.builder.freshName('mask_index')];
    return this.builder.contribNodeWithOutputs('EmbedLayerNormalization', inputs, outputs, {
      epsilon: { float: epsilon },
    });
  }

  /** The rows of the positions that are used, with the only segment type added where types are no input. */
  private positionTable(): ValueName {
    const { positions, positionOffset, hiddenSize, tokenTypes, takesTypes } = this.shape;
    const name = this.name('embeddings.position_embeddings.weight');
    if (positionOffset === 0 && takesTypes) return this.parts.table(name, positions, hiddenSize);
    const { source } = this.weights;
    const types = tokenTypes > 0 && !takesTypes ? this.name('embeddings.token_type_embeddings.weight') : null;
    return this.builder.weight(`${name}.used`, 'float32', [positions, hiddenSize], async function* () {
      const rows = await source.rows(name, positionOffset, positionOffset + positions);
      const type = types === null ? null : await source.rows(types, 0, 1);
      yield bytesOf(type === null ? rows : rows.map((value, index) => value + (type[index % hiddenSize] ?? 0)));
    });
  }

  private relativeBias(ids: ValueName): ValueName | null {
    const { relativeBuckets: buckets, heads } = this.shape;
    if (buckets === null) return null;
    const table = this.name('encoder.relative_attention_bias.weight');
    return emitRelativeBias(this.builder, ids, { source: this.weights.source, table, buckets, heads });
  }

  private layer(
    layer: number,
    { input, mask, bias, output }: { input: ValueName; mask: ValueName; bias: ValueName | null; output?: string },
  ): ValueName {
    const { hiddenSize, feedForwardSize, names } = this.shape;
    const name = (part: string) => `encoder.layer.${layer}.${part}`;
    const inputs = [input, ...this.projections(layer), mask, ...(bias === null ? [] : ['', bias])];
    const attended = this.builder.contribNode('Attention', inputs, { num_heads: this.shape.heads });
    const mixed = this.linear(attended, name(`${names.output}.weight`), hiddenSize, hiddenSize);
    const attention = { bias: name(`${names.output}.bias`), norm: name(names.attentionNorm) };
    const middle = this.addAndNorm(input, mixed, attention);
    const wide = this.linear(middle, name('intermediate.dense.weight'), hiddenSize, feedForwardSize);
    const active = this.activate(wide, this.vector(name('intermediate.dense.bias'), feedForwardSize));
    const narrow = this.linear(active, name('output.dense.weight'), feedForwardSize, hiddenSize);
    return this.addAndNorm(middle, narrow, { bias: name('output.dense.bias'), norm: name('output.LayerNorm'), output });
  }

  /** Returns weights `[hidden, 3 × hidden]` and biases of queries, keys and values side by side. */
  private projections(layer: number): [weight: ValueName, bias: ValueName] {
    const { hiddenSize, names } = this.shape;
    const parts = [names.query, names.key, names.value].map((part) => `encoder.layer.${layer}.${part}`);
    const name = `encoder.layer.${layer}.attention.projections`;
    const weight = this.builder.weight(`${name}.weight`, 'float32', [hiddenSize, 3 * hiddenSize], () =>
      this.sideBySide(parts.map((part) => `${part}.weight`)),
    );
    const bias = this.builder.weight(`${name}.bias`, 'float32', [3 * hiddenSize], () =>
      this.inARow(parts.map((part) => `${part}.bias`)),
    );
    return [weight, bias];
  }

  private async *sideBySide(names: string[]): AsyncGenerator<Uint8Array> {
    const { hiddenSize: size } = this.shape;
    const joined = new Float32Array(names.length * size * size);
    for (const [index, name] of names.entries()) {
      const values = await this.weights.source.rows(this.weights.prefix + name, 0, size);
      for (let output = 0; output < size; output++) {
        for (let input = 0; input < size; input++) {
          joined[input * names.length * size + index * size + output] = values[output * size + input] as number;
        }
      }
    }
    yield bytesOf(joined);
  }

  private async *inARow(names: string[]): AsyncGenerator<Uint8Array> {
    for (const name of names) yield bytesOf(await this.weights.source.vector(this.weights.prefix + name));
  }

  private addAndNorm(
    around: ValueName,
    through: ValueName,
    { bias, norm, output }: { bias: string; norm: string; output?: string },
  ): ValueName {
    const biased = this.builder.node('Add', [through, this.vector(bias)]);
    const sum = this.builder.node('Add', [around, biased]);
    return this.parts.layerNorm(sum, { name: this.name(norm), size: this.shape.hiddenSize, output });
  }

  private activate(input: ValueName, bias: ValueName): ValueName {
    return this.builder.contribNode(this.shape.activation === 'gelu' ? 'BiasGelu' : 'FastGelu', [input, bias]);
  }

  private linear(input: ValueName, name: string, inputs: number, outputs: number): ValueName {
    return this.parts.linear(input, { name: this.name(name), inputs, outputs });
  }

  private vector(name: string, size = this.shape.hiddenSize): ValueName {
    return this.parts.vector(this.name(name), size);
  }

  private name(name: string): string {
    return this.weights.prefix + name;
  }
}
