/** Everything that determines the graph of a decoder-only language model, except its weights. */
export interface DecoderShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  /** Key-value heads; a divisor of `heads`. */
  keyValueHeads: number;
  headSize: number;
  vocabularySize: number;
  /** Longest sequence in tokens, and length of the rotary tables. */
  contextLength: number;
  norm: { kind: 'rms' | 'layer'; epsilon: number };
  rotary: RotaryShape;
  feedForward: FeedForwardShape;
  /** RMS norm over each head of queries and keys before rotation (Qwen3). */
  queryKeyNorm: boolean;
  /** Linear layers with a bias. */
  bias: { queryKeyValue: boolean; attentionOutput: boolean; feedForward: boolean; head: boolean };
  /** Parallel blocks: attention and feed-forward share one norm and are summed (GPT-J, Phi-2). */
  parallelResidual: boolean;
  /** Tied weights: the output layer is the embedding table. */
  tiedHead: boolean;
}

export interface RotaryShape {
  base: number;
  /** Leading dimensions of each head that rotate, half split; at most `headSize`. */
  dimensions: number;
  /** Divisor of each pair's frequency (Llama 3 scaling, linear scaling); absent: 1 for all. */
  frequencyFactors?: Float32Array;
}

export interface FeedForwardShape {
  /** `gated-silu`: down(silu(gate(x)) * up(x)); the others: down(gelu(up(x))), exact or by tanh. */
  kind: 'gated-silu' | 'gelu' | 'gelu-tanh';
  size: number;
}

/**
 * Weight names used by the emitters. Linear layers are `[outputs, inputs]`; norms and biases are vectors. Queries and
 * keys use the half-split order of rotary pairs.
 */
export const weightNames = {
  embedding: 'embedding',
  head: 'head',
  finalNorm: 'final_norm',
  layer: (layer: number, part: LayerPart) => `layers.${layer}.${part}`,
  bias: (name: string) => `${name}.bias`,
} as const;

export type LayerPart =
  | 'attention_norm'
  | 'query'
  | 'key'
  | 'value'
  | 'query_norm'
  | 'key_norm'
  | 'attention_output'
  | 'feed_forward_norm'
  | 'gate'
  | 'up'
  | 'down';
