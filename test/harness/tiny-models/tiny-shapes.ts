import { weightNames, type DecoderShape, type LayerPart, type WeightSource } from '#model-store';
import { byteLevelTokenizer, sentencePieceTokenizer, type TinyTokenizer } from './tiny-tokenizer.js';
import { gaussians, namedRandom } from './tiny-random.js';

export type TinyShapeName = 'llama' | 'wide' | 'qwen' | 'phi' | 'window' | 'capped';

export const tinyContextLength = 256;

const common = {
  layers: 2,
  hiddenSize: 64,
  heads: 4,
  headSize: 16,
  contextLength: tinyContextLength,
} satisfies Partial<DecoderShape>;

const noBias = { queryKeyValue: false, attentionOutput: false, feedForward: false, head: false };

const llama: Omit<DecoderShape, 'vocabularySize'> = {
  ...common,
  keyValueHeads: 2,
  norm: { kind: 'rms', epsilon: 1e-5 },
  rotary: { base: 10000, dimensions: 16 },
  feedForward: { kind: 'gated-silu', size: 128 },
  queryKeyNorm: 'none',
  bias: noBias,
  parallelResidual: false,
  tiedHead: false,
};

const halfRotated = { base: 10_000, dimensions: 16 };

const shapes: Record<TinyShapeName, Omit<DecoderShape, 'vocabularySize'>> = {
  llama,
  // Rows of whole blocks of the types with 256 values.
  wide: { ...llama, hiddenSize: 256, heads: 16, feedForward: { kind: 'gated-silu', size: 256 } },
  // The bias of Qwen2 with the head norms of Qwen3, heads wider than the hidden size, tied head.
  qwen: {
    ...common,
    headSize: 32,
    keyValueHeads: 1,
    norm: { kind: 'rms', epsilon: 1e-6 },
    rotary: { base: 1_000_000, dimensions: 32 },
    feedForward: { kind: 'gated-silu', size: 128 },
    queryKeyNorm: 'head',
    bias: { ...noBias, queryKeyValue: true },
    parallelResidual: false,
    tiedHead: true,
  },
  phi: {
    ...common,
    keyValueHeads: 4,
    norm: { kind: 'layer', epsilon: 1e-5 },
    rotary: { base: 10000, dimensions: 8 },
    feedForward: { kind: 'gelu-tanh', size: 256 },
    queryKeyNorm: 'none',
    bias: { queryKeyValue: true, attentionOutput: true, feedForward: true, head: true },
    parallelResidual: true,
    tiedHead: false,
  },
  // Sinks in every layer, a window in the first, and heads of which half rotates.
  window: {
    ...llama,
    headSize: 32,
    rotary: halfRotated,
    attention: { sinks: true, window: { size: 20, layers: [true, false], rotary: { ...halfRotated, base: 500 } } },
  },
  // Capped scores, and a window in the second layer.
  capped: {
    ...llama,
    attention: { softCap: 2, window: { size: 20, layers: [false, true], rotary: llama.rotary } },
  },
};

const modelTypes: Record<TinyShapeName, { type: string; architecture: string; activation: string }> = {
  llama: { type: 'llama', architecture: 'LlamaForCausalLM', activation: 'silu' },
  wide: { type: 'llama', architecture: 'LlamaForCausalLM', activation: 'silu' },
  qwen: { type: 'qwen3', architecture: 'Qwen3ForCausalLM', activation: 'silu' },
  phi: { type: 'phi', architecture: 'PhiForCausalLM', activation: 'gelu_new' },
  window: { type: 'llama', architecture: 'LlamaForCausalLM', activation: 'silu' },
  capped: { type: 'llama', architecture: 'LlamaForCausalLM', activation: 'silu' },
};

export interface TinyDecoder {
  shape: DecoderShape;
  tokenizer: TinyTokenizer;
  weights: WeightSource;
  /** Contents of config.json. */
  config: Record<string, unknown>;
}

/** The same name and seed give the same weights, whatever the layout and number format. */
export function tinyDecoder(name: TinyShapeName, seed: number, contextLength = tinyContextLength): TinyDecoder {
  const isLlama = modelTypes[name].type === 'llama';
  const tokenizer = isLlama ? sentencePieceTokenizer() : byteLevelTokenizer();
  const shape: DecoderShape = { ...shapes[name], contextLength, vocabularySize: tokenizer.vocabularySize };
  return {
    shape,
    tokenizer,
    weights: new RandomWeights(shape, tokenizer, seed),
    config: configOf(name, shape, tokenizer),
  };
}

function configOf(name: TinyShapeName, shape: DecoderShape, tokenizer: TinyTokenizer): Record<string, unknown> {
  const { type, architecture, activation } = modelTypes[name];
  return {
    architectures: [architecture],
    model_type: type,
    hidden_size: shape.hiddenSize,
    intermediate_size: shape.feedForward.size,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    head_dim: shape.headSize,
    vocab_size: shape.vocabularySize,
    max_position_embeddings: shape.contextLength,
    rope_theta: shape.rotary.base,
    partial_rotary_factor: shape.rotary.dimensions / shape.headSize,
    hidden_act: activation,
    tie_word_embeddings: shape.tiedHead,
    bos_token_id: tokenizer.bosTokenId,
    eos_token_id: tokenizer.eosTokenIds[0],
  };
}

class RandomWeights implements WeightSource {
  private readonly matrices = new Map<string, Float32Array>();

  constructor(
    private readonly shape: DecoderShape,
    private readonly tokenizer: TinyTokenizer,
    private readonly seed: number,
  ) {}

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const columns = this.columnsOf(name);
    const source = name === weightNames.head && this.shape.tiedHead ? weightNames.embedding : name;
    return this.matrix(source, columns).slice(from * columns, to * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    const random = namedRandom(this.seed, name);
    const isBias = name.endsWith('.bias');
    const values = gaussians(random, this.vectorSize(name), isBias ? 0.05 : 0.1);
    return isBias ? values : values.map((value) => 1 + value);
  }

  private matrix(name: string, columns: number): Float32Array {
    const known = this.matrices.get(name);
    if (known) return known;
    const rows = this.rowsOf(name);
    const isTable = name === weightNames.embedding || name === weightNames.head;
    const values = gaussians(namedRandom(this.seed, name), rows * columns, isTable ? 0.3 : 1.5 / Math.sqrt(columns));
    // A random model would often stop or write partial characters; these biases make both rare.
    if (isTable) {
      scaleRows(values, columns, this.tokenizer.rareIds, 0.01);
      scaleRows(values, columns, this.tokenizer.byteIds, 0.4);
    }
    this.matrices.set(name, values);
    return values;
  }

  private columnsOf(name: string): number {
    const { hiddenSize, heads, headSize, feedForward } = this.shape;
    if (name.endsWith('.attention_output')) return heads * headSize;
    return name.endsWith('.down') ? feedForward.size : hiddenSize;
  }

  private rowsOf(name: string): number {
    const { hiddenSize, heads, keyValueHeads, headSize, feedForward, vocabularySize } = this.shape;
    const part = name.split('.').at(-1) as LayerPart | 'embedding' | 'head';
    if (part === 'embedding' || part === 'head') return vocabularySize;
    if (part === 'query') return heads * headSize;
    if (part === 'key' || part === 'value') return keyValueHeads * headSize;
    return part === 'gate' || part === 'up' ? feedForward.size : hiddenSize;
  }

  private vectorSize(name: string): number {
    if (name.endsWith('.sinks')) return this.shape.heads;
    if (name.endsWith('query_norm') || name.endsWith('key_norm')) return this.shape.headSize;
    if (name.endsWith('_norm') || name.endsWith('_norm.bias')) return this.shape.hiddenSize;
    return this.rowsOf(name.replace(/\.bias$/, ''));
  }
}

function scaleRows(values: Float32Array, columns: number, rows: number[], factor: number): void {
  for (const row of rows) {
    for (let index = row * columns; index < (row + 1) * columns; index++) values[index] = (values[index] ?? 0) * factor;
  }
}
