import type { DecoderShape } from './decoder-shape.js';

export interface ConfigNames {
  modelType: string;
  architecture: string;
  bosTokenId: number | null;
  eosTokenIds: number[];
}

const activations = {
  'gated-silu': 'silu',
  'gated-gelu': 'gelu',
  'gated-gelu-tanh': 'gelu_pytorch_tanh',
  'relu-squared': 'relu2',
  gelu: 'gelu',
  'gelu-tanh': 'gelu_new',
} as const;

/** `config.json` in the format of the transformers libraries, for readers of a model's sizes. */
export function configJson(shape: DecoderShape, names: ConfigNames): Record<string, unknown> {
  return {
    architectures: [names.architecture],
    model_type: names.modelType,
    hidden_size: shape.hiddenSize,
    intermediate_size: shape.feedForward.size,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    head_dim: shape.headSize,
    vocab_size: shape.vocabularySize,
    max_position_embeddings: shape.contextLength,
    [shape.norm.kind === 'rms' ? 'rms_norm_eps' : 'layer_norm_eps']: shape.norm.epsilon,
    rope_theta: shape.rotary.base,
    partial_rotary_factor: shape.rotary.dimensions / shape.headSize,
    hidden_act: activations[shape.feedForward.kind],
    tie_word_embeddings: shape.tiedHead,
    bos_token_id: names.bosTokenId,
    eos_token_id: names.eosTokenIds[0] ?? null,
  };
}
