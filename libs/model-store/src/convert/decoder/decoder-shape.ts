/** Everything that determines the graph of a decoder-only language model, except its weights. */
export interface DecoderShape {
  layers: number;
  hiddenSize: number;
  heads: number;
  /** Key-value heads, or the most that a layer has; a divisor of `heads`. */
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
  /** Layers cache one latent per token in place of keys and values; `keyValueHeads` and `headSize` are those of it. */
  latent?: LatentShape;
  /** The replacement of attention in each layer, null where it attends; absent: every layer attends. */
  mixers?: readonly (Mixer | null)[];
  /** Sizes of the heads of each layer, at most `headSize`. Layers with the same window, or none, have the same. */
  headSizes?: readonly number[];
  /** The same of their key-value heads, at most `keyValueHeads`. */
  keyValueHeadsOfLayers?: readonly number[];
  /** Layers whose values are their keys before norm and rotation (Gemma 4). */
  keysAsValues?: readonly boolean[];
  /** The layer whose keys and values a layer reads, null for its own; absent: all have their own (Gemma 4). */
  sharedKeyValues?: readonly (number | null)[];
  /** The values of each head are normed, without gains. */
  valueNorm?: true;
  /**
   * Each layer adds a vector that depends on the token and on its embedding, through a gate. The last tokens of the
   * vocabulary may have no row in its table, of `rows`; absent: all have one.
   */
  layerInputs?: { size: number; rows?: number };
  /** The layers pass several residual streams on (Gemma 3n); absent: one. */
  residualStreams?: ResidualStreamsShape;
  /** The output of each layer is multiplied by a learned number. */
  layerScale?: true;
  /** A layer is one half with one norm: a feed-forward where its mixer is `none`, otherwise without one (Nemotron-H). */
  oneHalf?: true;
  /** The decoder reads images too; absent: tokens only. */
  media?: MediaShape;
  feedForward: FeedForwardShape;
  /** Norm over queries and keys, before rotation unless `normsRotated` is set. */
  queryKeyNorm: QueryKeyNorm;
  /** Queries and keys are normalized after their rotation (Hunyuan). */
  normsRotated?: boolean;
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

/** Streams that are predicted and corrected by each layer, which computes one of them (AltUp). */
export interface ResidualStreamsShape {
  count: number;
  /** The stream that layers compute. */
  active: number;
  /** The rank of the projection around the attention of a layer (Laurel). */
  rank: number;
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
  /** The two values of a pair are side by side in the graph too, instead of in the two halves. */
  interleaved?: true;
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
  /**
   * Layers whose tokens see themselves and the `size - 1` tokens before them, or of these those in the same chunk of the text
   * of `size` tokens if it is `chunked`; `rotary` is theirs. */
  window?: { size: number; layers: readonly boolean[]; rotary: RotaryShape; chunked?: true };
  /** Queries grow by `1 + scale * log(1 + floor((position + offset) / length))`, in all layers or those that do not rotate, against flat attention over many tokens. */
  temperature?: { scale: number; length: number; offset?: number; unrotatedOnly?: true };
  /** Queries come with a gate per value, whose sigmoid multiplies the output of attention (Qwen 3.5). */
  outputGate?: true;
  /** Rotated queries and keys are normed by head, without gains (Llama 4). */
  rotatedNorm?: true;
  /** Layers that do not rotate queries and keys. */
  unrotated?: readonly boolean[];
}

/** How images enter a decoder. */
export interface MediaShape {
  /** The first layers that add features of an image to their outputs (Qwen3-VL); absent: none. */
  deepLayers?: number;
  /** Axis of the positions that each rotary pair turns by: 0 time, 1 height, 2 width; absent: positions are indexes. */
  rotaryAxes?: readonly number[];
  /** Positions of one image see each other, whatever their order (Gemma 3). */
  seesWholeImages?: true;
}

/**
 * Multi-head latent attention (DeepSeek V2 and V3). Keys and values of all heads are linear in one latent per token, so
 * their matrices are applied to queries and outputs, and only the latent is cached, behind the rotated part of the keys.
 */
export interface LatentShape {
  /** Values of a latent. */
  rank: number;
  /** The same of the latent that queries are computed from; null: from the input of the layer. */
  queryRank: number | null;
  /** Values of a head's query that do not rotate; `rotary.dimensions` more do. */
  plainSize: number;
  /** Values of a head's output. */
  valueSize: number;
  /** Added to the mean square by the norms of latents. */
  epsilon: number;
  /** The source has the matrices of keys and values of a head in one tensor. */
  joined: boolean;
  /** Tokens attend to the positions that it chooses; absent: to all before them. */
  indexer?: IndexerShape;
}

/**
 * The indexer of sparse attention (DeepSeek V3.2): small heads score all positions, and a token attends to those with the
 * highest scores only. All heads share one key, which is cached.
 */
export interface IndexerShape {
  heads: number;
  /** Values of a head, of which the first `rotary.dimensions` rotate. */
  size: number;
  /** Positions that a token attends to. */
  topK: number;
  /** The two values of a rotary pair are side by side. */
  interleaved: boolean;
  /** Layers without an indexer, which attend to what the last layer before them with one has chosen. */
  reuses: readonly boolean[];
}

/** A layer that keeps a state of one size, however many tokens it has read, instead of keys and values. */
export type Mixer = ShortConvolution | GatedDelta | Mamba | NoMixer;

/** The layer is a feed-forward only. */
export interface NoMixer {
  kind: 'none';
}

/**
 * LFM2: `out(gate * convolution(input * other))`, where one linear layer gives both gates and the input. Each channel
 * has its own kernel, and the state is its last `length - 1` inputs.
 */
export interface ShortConvolution {
  kind: 'short-convolution';
  /** Tokens that a channel sees, the newest included. */
  length: number;
  bias: boolean;
}

/**
 * Gated DeltaNet (Qwen 3.5): queries, keys and values of a short convolution meet a matrix per head, which each token
 * decays and corrects. Its outputs are normed and gated. The state is the last `length - 1` inputs of the convolution
 * and the matrices.
 */
export interface GatedDelta {
  kind: 'gated-delta';
  /** Tokens that a channel of the convolution sees, the newest included. */
  length: number;
  /** Heads of queries and keys. */
  keyHeads: number;
  /** A multiple of `keyHeads`. */
  valueHeads: number;
  keySize: number;
  valueSize: number;
  /** Value heads of one key head follow each other, or are `keyHeads` apart. */
  headOrder: 'grouped' | 'tiled';
}

/**
 * Mamba 2 (Granite 4 H): a short convolution gives the inputs of the heads, and vectors B and C that the heads of a group
 * share. A matrix per head decays and gains the input times B with each token, and C reads it. Outputs are gated and
 * normed. The state is the last `length - 1` inputs of the convolution and the matrices.
 */
export interface Mamba {
  kind: 'mamba';
  /** Tokens that a channel of the convolution sees, the newest included. */
  length: number;
  heads: number;
  headSize: number;
  /** A divisor of `heads`. */
  groups: number;
  /** Size of B and C. */
  stateSize: number;
  convolutionBias: boolean;
  /** Gated outputs are normed by group. */
  hasNorm: boolean;
  /** The layer attends too, and adds the results (Falcon-H1). */
  besideAttention?: true;
  /** Least step of a token; absent: 0. */
  smallestStep?: number;
}

/** A tensor of the state of one row, which the graph takes and returns. */
export interface StateTensor {
  layer: number;
  /** Within the layer. */
  name: string;
  dimensions: number[];
}

/** Returns the tensors of the state of one row, in the order of the layers. */
export function stateTensors({ mixers, hiddenSize }: Pick<DecoderShape, 'mixers' | 'hiddenSize'>): StateTensor[] {
  return (mixers ?? []).flatMap((mixer, layer) => {
    if (mixer === null || mixer.kind === 'none') return [];
    const inputs = { layer, name: 'inputs', dimensions: [mixer.length - 1, convolvedChannels(mixer, hiddenSize)] };
    const memory = matricesOf(mixer);
    return memory === null ? [inputs] : [inputs, { layer, name: 'memory', dimensions: memory }];
  });
}

/** Returns the dimensions of the matrices of a layer; null for a convolution. */
function matricesOf(mixer: Mixer): number[] | null {
  if (mixer.kind === 'gated-delta') return [mixer.valueHeads, mixer.keySize, mixer.valueSize];
  return mixer.kind === 'mamba' ? [mixer.heads, mixer.stateSize, mixer.headSize] : null;
}

/** Returns the number of channels of a layer's convolution. */
export function convolvedChannels(mixer: Exclude<Mixer, NoMixer>, hiddenSize: number): number {
  if (mixer.kind === 'short-convolution') return hiddenSize;
  if (mixer.kind === 'mamba') return mixer.heads * mixer.headSize + 2 * mixer.groups * mixer.stateSize;
  return 2 * mixer.keyHeads * mixer.keySize + mixer.valueHeads * mixer.valueSize;
}

/** True if a layer with this replacement of attention, or none, attends. */
export function attends(mixer: Mixer | null | undefined): boolean {
  return !mixer || (mixer.kind === 'mamba' && mixer.besideAttention === true);
}

/** Returns the layers that attend, which have keys and values. */
export function attendingLayers({ layers, mixers }: Pick<DecoderShape, 'layers' | 'mixers'>): number[] {
  return Array.from({ length: layers }, (_, layer) => layer).filter((layer) => attends(mixers?.[layer]));
}

/** Returns the layers that have keys and values of their own. */
export function cachingLayers(shape: Pick<DecoderShape, 'layers' | 'mixers' | 'sharedKeyValues'>): number[] {
  return attendingLayers(shape).filter((layer) => (shape.sharedKeyValues?.[layer] ?? null) === null);
}

/** A tensor of a layer's cache, `[batch, heads, positions, size]`. */
export interface CacheTensor {
  part: 'key' | 'value' | 'latent' | 'index';
  heads: number;
  size: number;
}

/** Returns the tensors of the cache of a layer that has keys and values of its own. */
export function cacheTensors(shape: DecoderShape, layer: number): CacheTensor[] {
  const sizes = { heads: keyValueHeadsOf(shape, layer), size: headSizeOf(shape, layer) };
  if (!shape.latent) return (['key', 'value'] as const).map((part) => ({ part, ...sizes }));
  const { indexer } = shape.latent;
  const latent: CacheTensor = { part: 'latent', ...sizes };
  return indexer && !indexer.reuses[layer] ? [latent, { part: 'index', heads: 1, size: indexer.size }] : [latent];
}

/** Returns the size of the heads of a layer. */
export function headSizeOf(
  { headSize, headSizes }: Pick<DecoderShape, 'headSize' | 'headSizes'>,
  layer: number,
): number {
  return headSizes?.[layer] ?? headSize;
}

/** Returns the number of key-value heads of a layer. */
export function keyValueHeadsOf(
  { keyValueHeads, keyValueHeadsOfLayers }: Pick<DecoderShape, 'keyValueHeads' | 'keyValueHeadsOfLayers'>,
  layer: number,
): number {
  return keyValueHeadsOfLayers?.[layer] ?? keyValueHeads;
}

/** Returns the number of rows in the table of inputs per layer. */
export function layerTableRows({ layerInputs, vocabularySize }: Pick<DecoderShape, 'layerInputs' | 'vocabularySize'>) {
  return layerInputs?.rows ?? vocabularySize;
}

export interface FeedForwardShape {
  /** `gated-…`: down(activation(gate(x)) * up(x)); the others: down(activation(up(x))). */
  kind: 'gated-silu' | 'gated-gelu' | 'gated-gelu-tanh' | 'gelu' | 'gelu-tanh' | 'relu-squared';
  /** Of one expert, if there are experts. */
  size: number;
  /** Each token is computed by `used` of `count` experts, chosen by a router. */
  experts?: ExpertShape;
  /** Layers without experts in a model that has them, or of another size, and the size of their feed-forward. */
  dense?: { layers: readonly boolean[]; size: number };
  /**
   * For each layer the number of standard deviations above its mean from which a gate counts, as its distance from there;
   * null: gates count as they are (Gemma 3n).
   */
  thresholds?: readonly (number | null)[];
}

export interface ExpertShape {
  count: number;
  used: number;
  /** The function that makes scores of the router's outputs. */
  scoring: 'softmax' | 'sigmoid';
  /** A learned bias of each expert counts when experts are chosen, and not in their weights. */
  selectionBias: boolean;
  /** Weights multiply what experts read, in place of what they return (Llama 4). */
  weighsInputs?: true;
  /** The weights of the chosen experts add up to one, before `scale`. */
  normalized: boolean;
  /** Factor of the weights; absent: 1. */
  scale?: number;
  /**
   * Experts are chosen from `used` of `count` groups of neighbors. The score of a group is that of its best expert, or
   * the sum of its best two.
   */
  groups?: { count: number; used: number; score: 'best' | 'best-two' };
  /** Experts compute values of this size, between two layers that all experts share; absent: of the hidden size. */
  latentSize?: number;
  /** Router and experts have biases. */
  bias: boolean;
  /** gpt-oss: `clamp(gate) * sigmoid(1.702 * gate) * (clamp(up) + 1)`; absent: as `kind` says. */
  clamp?: { limit: number; alpha: number; shift: number };
  /** One more expert that computes every token; `weighted`: times a sigmoid of its own router. */
  shared?: { size: number; weighted: boolean };
  /**
   * A feed-forward of this size computes every token in addition. Both results and the input of the experts have norms of
   * their own, the router norms what it reads, and each expert's weight has a learned factor (Gemma 4).
   */
  beside?: { size: number };
}

/** The experts of a layer; undefined for a dense one. */
export function expertsOf({ feedForward }: DecoderShape, layer: number): ExpertShape | undefined {
  return feedForward.dense?.layers[layer] ? undefined : feedForward.experts;
}

/** Size of the feed-forward of a layer, which it has in place of experts or in addition. */
export function feedForwardSize({ feedForward }: DecoderShape, layer: number): number {
  const { dense, size, experts } = feedForward;
  if (dense?.layers[layer]) return dense.size;
  return experts?.beside?.size ?? size;
}

/**
 * Weight names used by the emitters. Linear layers are `[outputs, inputs]`, experts `[experts * outputs, inputs]`; norms
 * and biases are vectors. Queries and keys use the half-split order of rotary pairs.
 */
export const weightNames = {
  embedding: 'embedding',
  head: 'head',
  finalNorm: 'final_norm',
  layerTable: 'layer_table',
  layerTableProjection: 'layer_table_projection',
  layerTableNorm: 'layer_table_norm',
  /** Projections of all streams but the first, before the layers and behind them. */
  streamIn: (index: number) => `stream_in.${index}`,
  streamOut: (index: number) => `stream_out.${index}`,
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
  'latent_query_in',
  'latent_query_norm',
  'latent_query',
  'latent',
  'latent_norm',
  'latent_key_value',
  'latent_key',
  'latent_value',
  'index_query',
  'index_key',
  'index_key_norm',
  'index_weights',
  'convolution_in',
  'convolution',
  'convolution_out',
  'delta_in',
  'delta_gate',
  'delta_decay',
  'delta_decay_bias',
  'delta_decay_scale',
  'delta_rate',
  'delta_norm',
  'delta_out',
  'mamba_gate',
  'mamba_in',
  'mamba_step',
  'mamba_step_bias',
  'mamba_decay',
  'mamba_skip',
  'mamba_norm',
  'mamba_out',
  'feed_forward_norm',
  'gate',
  'up',
  'down',
  'router',
  'router_selection',
  'expert_in',
  'expert_out',
  'expert_gate',
  'expert_up',
  'expert_down',
  'shared_router',
  'shared_gate',
  'shared_up',
  'shared_down',
  'router_norm',
  'expert_scale',
  'expert_norm',
  'expert_post_norm',
  'beside_post_norm',
  'feed_forward_post_norm',
  'input_gate',
  'input_projection',
  'input_post_norm',
  'layer_scale',
  'laurel_in',
  'laurel_out',
  'laurel_norm',
  'stream_norm',
  'stream_router',
  'stream_prediction',
  'stream_correction',
  'stream_scale',
] as const;

export type LayerPart = (typeof layerParts)[number];
