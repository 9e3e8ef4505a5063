import type { LayerPart, Mixer, QueryKeyNorm } from './decoder-shape.js';
import type { RotaryPairs } from './decoder-source.js';

/**
 * What distinguishes an architecture from `llama`: RMS norms before attention and feed-forward, a gated SiLU, rotation
 * of every head, one residual stream. Sizes, biases, fused layers, windows, factors and scalings of the rotation are read
 * from the file.
 */
export interface Architecture {
  /** Published models, for the documentation. */
  models: string;
  /** `model_type` and class in config.json. */
  modelType: string;
  className: string;
  /** Order of the rotary pairs in a GGUF file. */
  rotaryPairs: RotaryPairs;
  /** Layer norms without bias instead of RMS norms. */
  layerNorms?: true;
  normPlacement?: 'after' | 'both';
  parallelResidual?: true;
  activation?: 'gelu-tanh';
  /** Feed-forwards and experts have no gate, and this activation. */
  plainActivation?: 'relu-squared';
  /** A layer is attention, what `mixer` says, or a feed-forward, behind one norm. */
  oneHalf?: true;
  /** Kind of the norms of queries and keys, if the file has them; default `head`. */
  queryKeyNorm?: QueryKeyNorm;
  /** These norms follow the rotation. */
  normsRotated?: true;
  /**
   * Positions of images have three axes. Rotary pairs of one axis follow each other, or every third pair is of one until
   * it has all of its own.
   */
  rotaryAxes?: 'sections' | 'interleaved';
  /** Positions of one image see each other. */
  seesWholeImages?: true;
  /** Embeddings are multiplied by the root of their size. */
  scaledEmbedding?: true;
  /** The file's `logit_scale` divides the logits; default: it multiplies them. */
  dividesLogits?: true;
  /** Where files do not say: soft caps of scores and logits. */
  softCaps?: { attention: number; logits: number };
  /** Default for the scale of the scores, where it is not the root of the head's size. */
  attentionScale?: (sizes: { layers: number; hiddenSize: number; heads: number }) => number | undefined;
  /** If the file has a window: every n-th layer sees the whole context; absent: none does. */
  wholeContextEvery?: number;
  /** Of a file that does not say. */
  windowSize?: number;
  /** Windows are chunks of the text. */
  chunkedWindow?: true;
  /** Rotated queries and keys are normed without gains, unless the source says otherwise. */
  rotatedNorm?: true;
  /** Queries of layers that do not rotate grow with their position. */
  temperature?: { scale: number; length: number; offset: number };
  /** Weights of experts multiply their inputs. */
  weighsInputs?: true;
  /** Layers with a window rotate without the file's scaling, by this base or the file's. */
  windowRotary?: { base?: number };
  /**
   * Layers that do not rotate: every n-th, or those that see the whole context; `beside-windows`: the latter in a model
   * that has windows.
   */
  unrotated?: { every: number } | 'whole-context' | 'beside-windows' | 'all';
  /** Values are normed by head, without gains. */
  valueNorm?: true;
  /**
   * Layers with a window may have other sizes and numbers of heads than the others, the last layers may use the keys and
   * values of earlier ones, and keys may be values.
   */
  variedHeads?: true;
  /** Experts are there in addition to the layer's feed-forward. */
  expertsBeside?: true;
  /** Every token sees the whole text: the model gives embeddings, and writes none. */
  bidirectional?: true;
  /** Present: the model may have experts, or must have them. */
  experts?: 'allowed' | 'required';
  /** One expert more computes every token; `weighted`: times a sigmoid of its own router. */
  sharedExpert?: 'plain' | 'weighted';
  /** Layers have experts if the file has a router for them. */
  storedRouters?: true;
  /** Scores of experts are sigmoids, unless the source says otherwise. */
  sigmoidRouter?: true;
  /** A learned bias of each expert counts when experts are chosen; `stored`: if the file has it. */
  selectionBias?: true | 'stored';
  /** The weights of the chosen experts are those among all, unless the source says otherwise. */
  plainExpertWeights?: true;
  /** Sinks, biases and clamps of gpt-oss. */
  sinks?: true;
  expertClamp?: { limit: number; alpha: number; shift: number };
  /** YaRN leaves the magnitude of rotated values as it is. */
  plainYarn?: true;
  /** The range of pairs that YaRN scales has exact instead of whole bounds. */
  exactYarn?: true;
  /** The replacement of attention in layers without keys and values; absent: every layer attends. */
  mixer?: Mixer['kind'];
  /** Layers attend besides what `mixer` says, and add the results. */
  besideAttention?: true;
  /** Value heads that share a key head follow each other in GGUF files, unlike those of Qwen 3.5. */
  groupedHeads?: true;
  /** No layer rotates unless the file's `rope.scaling.finetuned` says so, which means something else elsewhere. */
  rotatesIfFinetuned?: true;
  /** Queries come with a gate for the output of attention. */
  outputGate?: true;
  /** Layers cache one latent per token, of which keys and values are linear functions. */
  latentAttention?: true;
  /** Name of the norm before the output layer, if it is not `output_norm`. */
  finalNorm?: string;
  /** Names of tensors that other architectures use for something else. */
  tensorNames?: Partial<Record<LayerPart, string>>;
}

/** A large model of the family divides by the root of hidden size by heads, and its file does not say so. */
const scaleOfLargest =
  (largest: number): Architecture['attentionScale'] =>
  ({ layers, hiddenSize, heads }) =>
    layers === largest ? 1 / Math.sqrt(hiddenSize / heads) : undefined;

const nemotronH: Architecture = {
  models: 'Nemotron-H, Nemotron Nano 2',
  modelType: 'nemotron_h',
  className: 'NemotronHForCausalLM',
  rotaryPairs: 'halves',
  unrotated: 'all',
  mixer: 'mamba',
  oneHalf: true,
  plainActivation: 'relu-squared',
  experts: 'allowed',
  storedRouters: true,
  sharedExpert: 'plain',
  sigmoidRouter: true,
  selectionBias: true,
};

/** Architectures by `general.architecture` of GGUF. A new one like `llama` is one entry. */
export const architectures: Readonly<Record<string, Architecture>> = {
  llama: {
    models: 'Llama 1 to 3.3, Mistral, Mixtral, SmolLM 1 and 2, TinyLlama, Yi',
    modelType: 'llama',
    className: 'LlamaForCausalLM',
    rotaryPairs: 'adjacent',
    experts: 'allowed',
  },
  llama4: {
    models: 'Llama 4 (Scout, Maverick)',
    modelType: 'llama4_text',
    className: 'Llama4ForCausalLM',
    rotaryPairs: 'adjacent',
    wholeContextEvery: 4,
    windowSize: 8192,
    chunkedWindow: true,
    unrotated: 'whole-context',
    rotatedNorm: true,
    temperature: { scale: 0.1, length: 8192, offset: 1 },
    experts: 'allowed',
    storedRouters: true,
    sharedExpert: 'plain',
    sigmoidRouter: true,
    plainExpertWeights: true,
    weighsInputs: true,
  },
  mistral3: {
    models: 'Ministral 3',
    modelType: 'ministral3',
    className: 'Ministral3ForCausalLM',
    rotaryPairs: 'adjacent',
    plainYarn: true,
  },
  qwen2: {
    models: 'Qwen 2 and 2.5',
    modelType: 'qwen2',
    className: 'Qwen2ForCausalLM',
    rotaryPairs: 'halves',
  },
  qwen2vl: {
    models: 'Qwen2-VL and Qwen2.5-VL',
    modelType: 'qwen2_vl',
    className: 'Qwen2VLForConditionalGeneration',
    rotaryPairs: 'halves',
    rotaryAxes: 'sections',
  },
  qwen3: {
    models: 'Qwen 3',
    modelType: 'qwen3',
    className: 'Qwen3ForCausalLM',
    rotaryPairs: 'halves',
  },
  qwen3vl: {
    models: 'Qwen3-VL (dense)',
    modelType: 'qwen3_vl',
    className: 'Qwen3VLForConditionalGeneration',
    rotaryPairs: 'halves',
    rotaryAxes: 'interleaved',
  },
  qwen3moe: {
    models: 'Qwen 3 with experts (30B-A3B, 235B-A22B)',
    modelType: 'qwen3_moe',
    className: 'Qwen3MoeForCausalLM',
    rotaryPairs: 'halves',
    experts: 'required',
  },
  qwen2moe: {
    models: 'Qwen 1.5 and 2 with experts (A2.7B, 57B-A14B)',
    modelType: 'qwen2_moe',
    className: 'Qwen2MoeForCausalLM',
    rotaryPairs: 'halves',
    experts: 'required',
    sharedExpert: 'weighted',
    plainExpertWeights: true,
  },
  olmoe: {
    models: 'OLMoE',
    modelType: 'olmoe',
    className: 'OlmoeForCausalLM',
    rotaryPairs: 'halves',
    queryKeyNorm: 'all-heads',
    experts: 'required',
    plainExpertWeights: true,
  },
  'minimax-m2': {
    models: 'MiniMax M2',
    modelType: 'minimax_m2',
    className: 'MiniMaxM2ForCausalLM',
    rotaryPairs: 'halves',
    queryKeyNorm: 'all-heads',
    experts: 'required',
    sigmoidRouter: true,
    selectionBias: true,
  },
  phi3: {
    models: 'Phi 3, 3.5 and 4',
    modelType: 'phi3',
    className: 'Phi3ForCausalLM',
    rotaryPairs: 'halves',
  },
  smollm3: {
    models: 'SmolLM 3',
    modelType: 'smollm3',
    className: 'SmolLM3ForCausalLM',
    rotaryPairs: 'adjacent',
    unrotated: { every: 4 },
  },
  olmo2: {
    models: 'OLMo 2 and 3',
    modelType: 'olmo2',
    className: 'Olmo2ForCausalLM',
    rotaryPairs: 'halves',
    normPlacement: 'after',
    queryKeyNorm: 'all-heads',
    wholeContextEvery: 4,
    windowRotary: {},
  },
  granite: {
    models: 'Granite 3 and 4 (dense)',
    modelType: 'granite',
    className: 'GraniteForCausalLM',
    rotaryPairs: 'adjacent',
    dividesLogits: true,
  },
  granitehybrid: {
    models: 'Granite 4 H, with and without experts',
    modelType: 'granitemoehybrid',
    className: 'GraniteMoeHybridForCausalLM',
    rotaryPairs: 'adjacent',
    dividesLogits: true,
    mixer: 'mamba',
    rotatesIfFinetuned: true,
    experts: 'allowed',
    sharedExpert: 'plain',
  },
  'falcon-h1': {
    models: 'Falcon-H1',
    modelType: 'falcon_h1',
    className: 'FalconH1ForCausalLM',
    rotaryPairs: 'halves',
    mixer: 'mamba',
    besideAttention: true,
  },
  gemma: {
    models: 'Gemma',
    modelType: 'gemma',
    className: 'GemmaForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
  },
  gemma2: {
    models: 'Gemma 2',
    modelType: 'gemma2',
    className: 'Gemma2ForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    softCaps: { attention: 50, logits: 30 },
    attentionScale: scaleOfLargest(46),
    wholeContextEvery: 2,
    windowSize: 4096,
  },
  gemma3: {
    models: 'Gemma 3',
    modelType: 'gemma3_text',
    className: 'Gemma3ForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    attentionScale: scaleOfLargest(62),
    wholeContextEvery: 6,
    windowRotary: { base: 10000 },
    seesWholeImages: true,
  },
  gemma4: {
    models: 'Gemma 4 (E2B, E4B, 26B-A4B, 31B)',
    modelType: 'gemma4_text',
    className: 'Gemma4ForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    attentionScale: () => 1,
    wholeContextEvery: 6,
    windowRotary: { base: 10000 },
    valueNorm: true,
    variedHeads: true,
    experts: 'allowed',
    expertsBeside: true,
  },
  'gemma-embedding': {
    models: 'EmbeddingGemma (embeddings)',
    modelType: 'gemma3_text',
    className: 'Gemma3TextModel',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    wholeContextEvery: 6,
    windowRotary: { base: 10000 },
    bidirectional: true,
  },
  glm4: {
    models: 'GLM 4 (0414)',
    modelType: 'glm4',
    className: 'Glm4ForCausalLM',
    rotaryPairs: 'adjacent',
    normPlacement: 'both',
  },
  glm4moe: {
    models: 'GLM 4.5, 4.6 and 4.7',
    modelType: 'glm4_moe',
    className: 'Glm4MoeForCausalLM',
    rotaryPairs: 'halves',
    experts: 'required',
    sharedExpert: 'plain',
    sigmoidRouter: true,
    selectionBias: true,
    tensorNames: { feed_forward_norm: 'post_attention_norm' },
  },
  ernie4_5: {
    models: 'ERNIE 4.5 (dense)',
    modelType: 'ernie4_5',
    className: 'Ernie4_5ForCausalLM',
    rotaryPairs: 'adjacent',
  },
  'ernie4_5-moe': {
    models: 'ERNIE 4.5 with experts (21B-A3B)',
    modelType: 'ernie4_5_moe',
    className: 'Ernie4_5_MoeForCausalLM',
    rotaryPairs: 'adjacent',
    experts: 'required',
    sharedExpert: 'plain',
    selectionBias: true,
  },
  seed_oss: {
    models: 'Seed-OSS',
    modelType: 'seed_oss',
    className: 'SeedOssForCausalLM',
    rotaryPairs: 'halves',
    tensorNames: { feed_forward_norm: 'post_attention_norm' },
  },
  exaone4: {
    models: 'EXAONE 4',
    modelType: 'exaone4',
    className: 'Exaone4ForCausalLM',
    rotaryPairs: 'halves',
    normPlacement: 'after',
    wholeContextEvery: 4,
    unrotated: 'beside-windows',
  },
  'hunyuan-dense': {
    models: 'Hunyuan (dense)',
    modelType: 'hunyuan_v1_dense',
    className: 'HunYuanDenseV1ForCausalLM',
    rotaryPairs: 'halves',
    normsRotated: true,
  },
  'command-r': {
    models: 'Command R and R+, Aya Expanse',
    modelType: 'cohere',
    className: 'CohereForCausalLM',
    rotaryPairs: 'adjacent',
    layerNorms: true,
    parallelResidual: true,
    queryKeyNorm: 'layer',
  },
  cohere2: {
    models: 'Command R7B and A',
    modelType: 'cohere2',
    className: 'Cohere2ForCausalLM',
    rotaryPairs: 'adjacent',
    layerNorms: true,
    parallelResidual: true,
    wholeContextEvery: 4,
    unrotated: 'whole-context',
  },
  'gpt-oss': {
    models: 'gpt-oss',
    modelType: 'gpt_oss',
    className: 'GptOssForCausalLM',
    rotaryPairs: 'halves',
    wholeContextEvery: 2,
    sinks: true,
    experts: 'required',
    expertClamp: { limit: 7, alpha: 1.702, shift: 1 },
    exactYarn: true,
    tensorNames: { feed_forward_norm: 'post_attention_norm' },
  },
  deepseek2: {
    models: 'DeepSeek V2, V2-Lite, V3, V3.1 and R1, GLM 4.7 Flash',
    modelType: 'deepseek_v3',
    className: 'DeepseekV3ForCausalLM',
    rotaryPairs: 'adjacent',
    latentAttention: true,
    plainYarn: true,
    experts: 'required',
    sharedExpert: 'plain',
    selectionBias: 'stored',
    plainExpertWeights: true,
  },
  nemotron_h: nemotronH,
  nemotron_h_moe: { ...nemotronH, models: 'Nemotron 3 (Nano 30B-A3B, Super 120B-A12B)' },
  lfm2: {
    models: 'LFM2 and 2.5 (dense)',
    modelType: 'lfm2',
    className: 'Lfm2ForCausalLM',
    rotaryPairs: 'halves',
    mixer: 'short-convolution',
    finalNorm: 'token_embd_norm',
  },
  lfm2moe: {
    models: 'LFM2 with experts (8B-A1B)',
    modelType: 'lfm2_moe',
    className: 'Lfm2MoeForCausalLM',
    rotaryPairs: 'halves',
    mixer: 'short-convolution',
    finalNorm: 'token_embd_norm',
    experts: 'required',
    sigmoidRouter: true,
    selectionBias: 'stored',
  },
  qwen35: {
    models: 'Qwen 3.5 and 3.6 (dense)',
    modelType: 'qwen3_5_text',
    className: 'Qwen3_5ForCausalLM',
    rotaryPairs: 'halves',
    mixer: 'gated-delta',
    outputGate: true,
    tensorNames: { feed_forward_norm: 'post_attention_norm' },
  },
  qwen35moe: {
    models: 'Qwen 3.5 and 3.6 with experts (35B-A3B, 122B-A10B)',
    modelType: 'qwen3_5_moe_text',
    className: 'Qwen3_5MoeForCausalLM',
    rotaryPairs: 'halves',
    mixer: 'gated-delta',
    outputGate: true,
    tensorNames: { feed_forward_norm: 'post_attention_norm' },
    experts: 'required',
    sharedExpert: 'weighted',
  },
  qwen3next: {
    models: 'Qwen3-Next (80B-A3B)',
    modelType: 'qwen3_next',
    className: 'Qwen3NextForCausalLM',
    rotaryPairs: 'halves',
    mixer: 'gated-delta',
    groupedHeads: true,
    outputGate: true,
    tensorNames: { feed_forward_norm: 'post_attention_norm' },
    experts: 'required',
    sharedExpert: 'weighted',
  },
};

export function findArchitecture(name: string): Architecture | undefined {
  return Object.hasOwn(architectures, name) ? architectures[name] : undefined;
}
