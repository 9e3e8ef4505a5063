import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import { embeddingContent, emitLinear, vectorContent, type WeightSource } from '../decoder/index.js';

/** Sizes and settings that determine the graph of a BERT encoder. */
export interface BertShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  feedForwardSize: number;
  vocabularySize: number;
  /** Longest text in tokens. */
  positions: number;
  /** Number of segment types. */
  tokenTypes: number;
  epsilon: number;
  activation: 'gelu' | 'gelu-tanh';
}

/** Tensor names of PyTorch; `prefix` is `bert.` if the encoder is a part of a larger model. */
export interface BertWeights {
  source: WeightSource;
  prefix: string;
}

/**
 * Builds the encoder as one graph: `input_ids`, `attention_mask`, `token_type_ids` to `last_hidden_state`, without the
 * pooler, which sentence encoders do not use. Attention and activations are onnxruntime's fused kernels.
 */
export function emitBertEncoder(shape: BertShape, weights: BertWeights): OnnxGraph {
  return new BertEncoderEmitter(shape, weights).emit();
}

class BertEncoderEmitter {
  private readonly builder = new GraphBuilder('bert');

  constructor(
    private readonly shape: BertShape,
    private readonly weights: BertWeights,
  ) {}

  emit(): OnnxGraph {
    const { builder, shape } = this;
    const sizes = ['batch', 'sequence'];
    const ids = builder.input('input_ids', 'int64', sizes);
    const mask = builder.input('attention_mask', 'int64', sizes);
    const types = builder.input('token_type_ids', 'int64', sizes);
    builder.output('last_hidden_state', 'float32', [...sizes, shape.hiddenSize]);
    const shortMask = this.toInt32(mask);
    let hidden = this.embed(ids, types);
    for (let layer = 0; layer < shape.layers; layer++) hidden = this.layer(layer, hidden, shortMask);
    return builder.build();
  }

  private embed(ids: ValueName, types: ValueName): ValueName {
    const { vocabularySize, positions, tokenTypes, epsilon } = this.shape;
    const tables = [
      this.table('embeddings.word_embeddings.weight', vocabularySize),
      this.table('embeddings.position_embeddings.weight', positions),
      this.table('embeddings.token_type_embeddings.weight', tokenTypes),
    ];
    const inputs = [this.toInt32(ids), this.toInt32(types), ...tables, ...this.norm('embeddings.LayerNorm')];
    const outputs = [this.builder.freshName('embedded'), this.builder.freshName('mask_index')];
    return this.builder.contribNodeWithOutputs('EmbedLayerNormalization', inputs, outputs, {
      epsilon: { float: epsilon },
    });
  }

  private layer(layer: number, input: ValueName, mask: ValueName): ValueName {
    const { hiddenSize, feedForwardSize, layers } = this.shape;
    const name = (part: string) => `encoder.layer.${layer}.${part}`;
    const attended = this.builder.contribNode('Attention', [input, ...this.projections(layer), mask], {
      num_heads: this.shape.heads,
    });
    const mixed = this.linear(attended, name('attention.output.dense.weight'), hiddenSize, hiddenSize);
    const middle = this.addAndNorm(input, mixed, name('attention.output'));
    const wide = this.linear(middle, name('intermediate.dense.weight'), hiddenSize, feedForwardSize);
    const active = this.activate(wide, this.vector(name('intermediate.dense.bias'), feedForwardSize));
    const narrow = this.linear(active, name('output.dense.weight'), feedForwardSize, hiddenSize);
    return this.addAndNorm(middle, narrow, name('output'), layer + 1 === layers ? 'last_hidden_state' : undefined);
  }

  /** Returns weights `[hidden, 3 × hidden]` and biases of queries, keys and values side by side. */
  private projections(layer: number): [weight: ValueName, bias: ValueName] {
    const { hiddenSize } = this.shape;
    const parts = ['query', 'key', 'value'].map((part) => `encoder.layer.${layer}.attention.self.${part}`);
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

  private addAndNorm(around: ValueName, through: ValueName, part: string, output?: string): ValueName {
    const biased = this.builder.node('Add', [through, this.vector(`${part}.dense.bias`)]);
    return this.layerNorm(this.builder.node('Add', [around, biased]), `${part}.LayerNorm`, output);
  }

  /**
   * Adds `(x - mean) / sqrt(sum((x - mean)²) / n + epsilon) * gain + bias`, with the root of `n` moved into the gain.
   * Single operators cost less than half of the runtime's own kernel, which adds up number by number. This saves a
   * tenth of a run.
   */
  private layerNorm(input: ValueName, name: string, output?: string): ValueName {
    const { builder } = this;
    const { hiddenSize, epsilon } = this.shape;
    const overHidden = { axes: [-1], keepdims: 1 };
    const centred = builder.node('Sub', [input, builder.node('ReduceMean', [input], overHidden)]);
    const squares = builder.node('ReduceSumSquare', [centred], overHidden);
    const norm = builder.node('Sqrt', [builder.node('Add', [squares, builder.float(hiddenSize * epsilon)])]);
    const scaled = builder.node('Mul', [centred, builder.node('Reciprocal', [norm])]);
    const gained = builder.node('Mul', [scaled, this.rootedGain(`${name}.weight`)]);
    return builder.node('Add', [gained, this.vector(`${name}.bias`)], {}, output);
  }

  private rootedGain(name: string): ValueName {
    const { source, prefix } = this.weights;
    const { hiddenSize } = this.shape;
    return this.builder.weight(`${prefix}${name}.rooted`, 'float32', [hiddenSize], async function* () {
      const gain = await source.vector(prefix + name);
      yield bytesOf(gain.map((value) => value * Math.sqrt(hiddenSize)));
    });
  }

  private activate(input: ValueName, bias: ValueName): ValueName {
    return this.builder.contribNode(this.shape.activation === 'gelu' ? 'BiasGelu' : 'FastGelu', [input, bias]);
  }

  private linear(input: ValueName, name: string, inputs: number, outputs: number): ValueName {
    const { source, prefix } = this.weights;
    return emitLinear(this.builder, source, { kind: 'float32' }, input, { name: prefix + name, inputs, outputs });
  }

  private norm(name: string): [gain: ValueName, bias: ValueName] {
    return [this.vector(`${name}.weight`), this.vector(`${name}.bias`)];
  }

  private vector(name: string, size = this.shape.hiddenSize): ValueName {
    const { source, prefix } = this.weights;
    return this.builder.weight(prefix + name, 'float32', [size], vectorContent(source, 'float32', prefix + name));
  }

  private table(name: string, rows: number): ValueName {
    const { source, prefix } = this.weights;
    const layer = { name: prefix + name, inputs: this.shape.hiddenSize, outputs: rows };
    const dimensions = [rows, this.shape.hiddenSize];
    return this.builder.weight(layer.name, 'float32', dimensions, embeddingContent(source, 'float32', layer));
  }

  private toInt32(value: ValueName): ValueName {
    return this.builder.node('Cast', [value], { to: onnxDataTypeCode.int32 });
  }
}
