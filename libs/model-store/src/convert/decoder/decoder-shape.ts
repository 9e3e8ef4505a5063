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
  norm: NormShape;
  /** Whether each half of a layer normalises its input (the default), its output, or both. */
  normPlacement?: 'before' | 'after' | 'both';
  rotary: RotaryShape;
  attention?: AttentionShape;
  feedForward: FeedForwardShape;
  /** Norm over queries and keys before rotation. */
  queryKeyNorm: QueryKeyNorm;
  /** Linear layers with a bias. */
  bias: BiasShape;
  /** Parallel blocks: attention and feed-forward share one norm and are summed (GPT-J, Phi-2, Command R). */
  parallelResidual: boolean;
  /** Tied weights: the output layer is the embedding table. */
  tiedHead: boolean;
  /** The model writes no text, so its output layer is not read. */
  headless?: true;
  /** Factors; absent: 1. `residual` is of what a layer's halves add to the residual stream. */
  scales?: { embedding?: number; residual?: number; logits?: number };
  /** Logits become `cap * tanh(logits / cap)`. */
  logitSoftCap?: number;
}

export interface NormShape {
  kind: 'rms' | 'layer';
  epsilon: number;
  /** Of `layer`; default true. */
  bias?: boolean;
}

export interface BiasShape {
  queryKeyValue: boolean;
  attentionOutput: boolean;
  feedForward: boolean;
  head: boolean;
}

/**
 * `head`: RMS norm of each head with shared gains (Qwen3). `all-heads`: RMS norm over all heads together (OLMo 2).
 * `layer`: layer norm of each head with its own gains (Command R+).
 */
export type QueryKeyNorm = 'none' | 'head' | 'all-heads' | 'layer';

export interface RotaryShape {
  base: number;
  /** Leading dimensions of each head that rotate, half split; at most `headSize`. */
  dimensions: number;
  /** Returns the divisor of each pair's frequency (Llama 3, linear, YaRN, LongRoPE); absent: 1 for all. */
  frequencyFactors?: () => Promise<Float32Array>;
  /** Factor of the rotated values (YaRN, LongRoPE); absent: 1. */
  magnitude?: number;
}

/** What differs from a product of queries and keys over the whole context. */
export interface AttentionShape {
  /** Of the scores; default: 1 by the root of `headSize`. */
  scale?: number;
  /** Scores become `cap * tanh(scores / cap)`. */
  softCap?: number;
  /** A learned score per head that takes weight from the tokens (gpt-oss). */
  sinks?: boolean;
  /** Tokens see those behind them as well, in a window on both sides. */
  bidirectional?: true;
  /** Layers whose tokens see themselves and the `size - 1` tokens before them; `rotary` is theirs. */
  window?: { size: number; layers: readonly boolean[]; rotary: RotaryShape };
  /** Queries grow by `1 + scale * log(1 + floor(position / length))`, against flat attention over many tokens. */
  temperature?: { scale: number; length: number };
  /** Layers that do not rotate queries and keys. */
  unrotated?: readonly boolean[];
}

export interface FeedForwardShape {
  /** `gated-…`: down(activation(gate(x)) * up(x)); the others: down(gelu(up(x))), exact or by tanh. */
  kind: 'gated-silu' | 'gated-gelu' | 'gated-gelu-tanh' | 'gelu' | 'gelu-tanh';
  /** Of one expert, if there are experts. */
  size: number;
  /** Each token is computed by `used` of `count` experts, chosen by a router. */
  experts?: ExpertShape;
}

export interface ExpertShape {
  count: number;
  used: number;
  /** The weights of the chosen experts add up to one. */
  normalized: boolean;
  /** Router and experts have biases. */
  bias: boolean;
  /** gpt-oss: `clamp(gate) * sigmoid(1.702 * gate) * (clamp(up) + 1)`; absent: as `kind` says. */
  clamp?: { limit: number; alpha: number; shift: number };
  /** One more expert that computes every token, weighted by a sigmoid. */
  shared?: { size: number };
}

/**
 * Weight names used by the emitters. Linear layers are `[outputs, inputs]`, experts `[experts * outputs, inputs]`; norms
 * and biases are vectors. Queries and keys use the half-split order of rotary pairs.
 */
export const weightNames = {
  embedding: 'embedding',
  head: 'head',
  finalNorm: 'final_norm',
  layer: (layer: number, part: LayerPart) => `layers.${layer}.${part}`,
  bias: (name: string) => `${name}.bias`,
} as const;

export const layerParts = [
  'attention_norm',
  'query',
  'key',
  'value',
  'query_norm',
  'key_norm',
  'sinks',
  'attention_output',
  'attention_post_norm',
  'feed_forward_norm',
  'gate',
  'up',
  'down',
  'router',
  'expert_gate',
  'expert_up',
  'expert_down',
  'shared_router',
  'shared_gate',
  'shared_up',
  'shared_down',
  'feed_forward_post_norm',
] as const;

export type LayerPart = (typeof layerParts)[number];
