import { invalidFile } from '../invalid-file.js';
import { addedAsExport } from '../exported-families.js';
import { ernieExperts, graniteScales, hunyuanExperts, type HubParameterValues } from './family-settings.js';
import type { HubConfig } from './hub-config.js';
import { deepseek2, deepseek3, deepseek32, glm4MoeLite, glmMoeDsa, mistral4 } from './hub-latent-architectures.js';
import { gemma3n, gemma4, gemma4Unified } from './hub-gemma-architectures.js';
import { llama4 } from './hub-llama4.js';
import { bamba, falconH1, graniteHybrid, mamba2, nemotronH } from './hub-mamba-architectures.js';
import {
  attention,
  attentionWithoutNorm,
  expertParts,
  feedForward,
  fusedFeedForward,
  headNorms,
  mixtralParts,
  normsAfter,
  normsAround,
  plain,
  sharedExperts,
  wholeContext,
} from './layer-modules.js';
import type { RowFactors } from './scaled-tensor.js';
import { type LayerKinds, lfm2, lfm2moe, qwen35, qwen35moe, qwen3next } from './hub-state-architectures.js';
import { idefics3, llava, qwen2vl } from './hub-vision-architectures.js';

/** How the hubs' files of an architecture map to the terms of GGUF. */
export interface HubArchitecture {
  /** GGUF's `general.architecture`. */
  architecture: string;
  /** Modules of every layer by their GGUF names; each has a weight and perhaps a bias. */
  layer: Readonly<Record<string, string>>;
  /** Layers that differ in kind. */
  kinds?: LayerKinds;
  /** Modules outside the layers, where they are not those of most architectures. */
  outer?: Readonly<Record<string, string>>;
  /** The same, where only some models have them. */
  optionalOuter?: Readonly<Record<string, string>>;
  /** Lists of matrices outside the layers, which GGUF stacks. */
  stackedOuter?: { count: (config: HubConfig) => number; lists: Readonly<Record<string, string>> };
  /** Modules that some models of the architecture have. */
  optional?: Readonly<Record<string, string>>;
  /** Modules of layers without experts, and of layers with them, in a model that has both. */
  denseLayer?: Readonly<Record<string, string>>;
  expertLayer?: Readonly<Record<string, string>>;
  /**
   * Modules of each expert, `<list>.<expert>.<part>`, which GGUF stacks. Some files stack them too, with gate and up in
   * one: `<list>.gate_up_proj` and `<list>.down_proj`, or as `stacked` names them.
   */
  experts?: {
    list: string;
    parts: Readonly<Record<string, string>>;
    stacked?: { gateAndUp: string; down: string };
  };
  /** Returns false for a model without experts; absent: all have them. */
  hasExperts?: (config: HubConfig) => boolean;
  /** Parameters of layers with experts without a module, by the ends of their GGUF names. */
  parametersOfExperts?: Readonly<Record<string, string>>;
  /** Module of all experts, `[experts, inputs, outputs]`, with the outputs of gate and up one after the other. */
  transposedExperts?: string;
  /** Parameter of layers with experts that is added to their scores when experts are chosen. */
  selectionBias?: string;
  /** The same, where only some models have it. */
  optionalSelectionBias?: string;
  /** Module of all experts, stacked as in gpt-oss: in MXFP4, or as floats. */
  stackedExperts?: string;
  /** Parameters without a module, by their GGUF names. */
  parametersOfLayer?: Readonly<Record<string, string>>;
  /** Members that files may have under another name, which counts where both are there. */
  otherNames?: Readonly<Record<string, string>>;
  /** Members that files leave out where they are these. */
  defaults?: Readonly<Record<string, unknown>>;
  /** Returns the size of a head as far as it rotates; default: `head_dim`. */
  headSize?: (config: HubConfig) => number;
  /** Queries and keys have the two values of a rotary pair side by side. */
  adjacentPairs?: true;
  /** Gains of norms are stored as their difference from one. */
  gainsFromOne?: true;
  /** The norm whose gain is stored whole nevertheless. */
  wholeGain?: string;
  /** Factors of the outputs of modules by their GGUF names, which the conversion multiplies into the weights. */
  factors?: (config: HubConfig) => Readonly<Record<string, RowFactors>>;
  /** Value heads that share a key head follow each other. */
  groupedHeads?: true;
  /** The decoder is part of a model that sees; its settings are in this member. */
  inner?: string;
  /** Files may have these settings beside the others instead. */
  mayBeFlat?: true;
  /** Entries that replace this one by the `model_type` of `inner`. */
  byInnerType?: Readonly<Record<string, HubArchitecture>>;
  /** Tensors that the decoder does not need, such as layers that guess further tokens. */
  unneeded?: RegExp;
  /** Values by GGUF's keys beside sizes, activation, window and rotation. */
  parameters?: (config: HubConfig) => HubParameterValues;
}

const mistralDefaults = { sliding_window: 4096 };
const ernieDefaults = { rms_norm_eps: 1e-5, tie_word_embeddings: true, rope_theta: 5e5 };

/** Ministral 3, whose queries grow with their position. Its rotation is that of the published files. */
const ministral3: HubArchitecture = {
  architecture: 'mistral3',
  layer: plain,
  defaults: { rms_norm_eps: 1e-5, head_dim: 128, rope_theta: 1e6 },
};

const olmo: HubArchitecture = {
  architecture: 'olmo2',
  layer: { ...attentionWithoutNorm, ...normsAfter, ...headNorms, ...feedForward },
  defaults: { rms_norm_eps: 1e-5 },
};

const gemma3: HubArchitecture = {
  architecture: 'gemma3',
  layer: { ...normsAround, ...headNorms },
  gainsFromOne: true,
  defaults: {
    hidden_activation: 'gelu_pytorch_tanh',
    tie_word_embeddings: true,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    max_position_embeddings: 131_072,
    sliding_window: 4096,
    rope_theta: 1e6,
    query_pre_attn_scalar: 256,
  },
  parameters: (config) => ({ ...softCaps(config), 'attention.scale': config.number('query_pre_attn_scalar') ** -0.5 }),
};

const qwen3moe: HubArchitecture = {
  architecture: 'qwen3moe',
  layer: { ...attention, ...headNorms, ffn_norm: 'post_attention_layernorm', ffn_gate_inp: 'mlp.gate' },
  experts: { list: 'mlp.experts', parts: expertParts },
  defaults: {
    ...wholeContext,
    num_experts_per_tok: 8,
    moe_intermediate_size: 768,
    norm_topk_prob: false,
  },
  parameters: (config) => ({
    expert_used_count: config.size('num_experts_per_tok'),
    expert_feed_forward_length: config.size('moe_intermediate_size'),
    expert_weights_norm: config.flag('norm_topk_prob', false),
  }),
};

const hunyuanNorms = { attn_q_norm: 'self_attn.query_layernorm', attn_k_norm: 'self_attn.key_layernorm' };

const glmDefaults = { partial_rotary_factor: 0.5, rms_norm_eps: 1.5625e-7, head_dim: 128 };

const cohere: HubArchitecture = {
  architecture: 'command-r',
  layer: { ...attention, ...feedForward },
  optional: headNorms,
  adjacentPairs: true,
  defaults: { tie_word_embeddings: true, logit_scale: 0.0625, layer_norm_eps: 1e-5 },
  parameters: (config) => ({
    'attention.layer_norm_epsilon': config.number('layer_norm_eps'),
    logit_scale: config.number('logit_scale'),
  }),
};

/** Supported entries of `architectures` in `config.json`. Their defaults are those of the classes. */
export const hubArchitectures: Readonly<Record<string, HubArchitecture>> = {
  LlamaForCausalLM: { architecture: 'llama', layer: plain },
  MistralForCausalLM: { architecture: 'llama', layer: plain, defaults: mistralDefaults },
  Mistral3ForConditionalGeneration: {
    architecture: 'llama',
    layer: plain,
    inner: 'text_config',
    byInnerType: {
      ministral3: { ...ministral3, inner: 'text_config' },
      mistral4: { ...mistral4, inner: 'text_config' },
    },
  },
  Ministral3ForCausalLM: ministral3,
  Mistral4ForCausalLM: mistral4,
  Llama4ForCausalLM: llama4,
  Llama4ForConditionalGeneration: { ...llama4, inner: 'text_config' },
  MixtralForCausalLM: {
    architecture: 'llama',
    layer: { ...attention, ffn_norm: 'post_attention_layernorm', ffn_gate_inp: 'block_sparse_moe.gate' },
    experts: { list: 'block_sparse_moe.experts', parts: mixtralParts },
    defaults: { rms_norm_eps: 1e-5, rope_theta: 1e6, num_experts_per_tok: 2 },
    parameters: (config) => ({ expert_used_count: config.size('num_experts_per_tok') }),
  },
  Qwen2ForCausalLM: { architecture: 'qwen2', layer: plain, defaults: wholeContext },
  Qwen2VLForConditionalGeneration: qwen2vl,
  Qwen2_5_VLForConditionalGeneration: qwen2vl,
  Qwen3ForCausalLM: {
    architecture: 'qwen3',
    layer: { ...plain, ...headNorms },
    defaults: { ...wholeContext, head_dim: 128 },
  },
  Qwen3VLForConditionalGeneration: {
    architecture: 'qwen3vl',
    layer: { ...plain, ...headNorms },
    inner: 'text_config',
    defaults: { head_dim: 128, rope_theta: 5e6 },
  },
  Qwen3MoeForCausalLM: qwen3moe,
  Qwen3VLMoeForConditionalGeneration: {
    architecture: 'qwen3vlmoe',
    layer: qwen3moe.layer,
    transposedExperts: 'mlp.experts',
    inner: 'text_config',
    defaults: { ...qwen3moe.defaults, norm_topk_prob: true, rope_theta: 5e6 },
    parameters: qwen3moe.parameters,
  },
  Qwen2MoeForCausalLM: {
    architecture: 'qwen2moe',
    layer: {
      ...attention,
      ffn_norm: 'post_attention_layernorm',
      ffn_gate_inp: 'mlp.gate',
      ffn_gate_inp_shexp: 'mlp.shared_expert_gate',
      ffn_gate_shexp: 'mlp.shared_expert.gate_proj',
      ffn_up_shexp: 'mlp.shared_expert.up_proj',
      ffn_down_shexp: 'mlp.shared_expert.down_proj',
    },
    experts: { list: 'mlp.experts', parts: expertParts },
    defaults: {
      ...wholeContext,
      num_experts_per_tok: 4,
      moe_intermediate_size: 1408,
      shared_expert_intermediate_size: 5632,
      norm_topk_prob: false,
    },
    parameters: (config) => ({
      expert_used_count: config.size('num_experts_per_tok'),
      expert_feed_forward_length: config.size('moe_intermediate_size'),
      expert_shared_feed_forward_length: config.size('shared_expert_intermediate_size'),
      expert_weights_norm: config.flag('norm_topk_prob', false),
    }),
  },
  OlmoeForCausalLM: {
    architecture: 'olmoe',
    layer: { ...attention, ...headNorms, ffn_norm: 'post_attention_layernorm', ffn_gate_inp: 'mlp.gate' },
    experts: { list: 'mlp.experts', parts: expertParts },
    defaults: { rms_norm_eps: 1e-5, num_experts_per_tok: 8, norm_topk_prob: false },
    parameters: (config) => ({
      expert_used_count: config.size('num_experts_per_tok'),
      expert_weights_norm: config.flag('norm_topk_prob', false),
      'attention.clamp_kqv': config.number('clip_qkv', 0),
    }),
  },
  MiniMaxM2ForCausalLM: {
    architecture: 'minimax-m2',
    layer: { ...attention, ...headNorms, ffn_norm: 'post_attention_layernorm', ffn_gate_inp: 'block_sparse_moe.gate' },
    experts: { list: 'block_sparse_moe.experts', parts: mixtralParts },
    selectionBias: 'block_sparse_moe.e_score_correction_bias',
    defaults: { head_dim: 128, rope_theta: 5e6, num_experts_per_tok: 8 },
    parameters: (config) => ({
      expert_used_count: config.size('num_experts_per_tok'),
      // Published files give the size, later ones its share.
      ...(config.has('rotary_dim') && { 'rope.dimension_count': config.size('rotary_dim') }),
    }),
  },
  Glm4MoeForCausalLM: {
    architecture: 'glm4moe',
    layer: { ...attention, post_attention_norm: 'post_attention_layernorm' },
    optional: headNorms,
    denseLayer: feedForward,
    expertLayer: { ffn_gate_inp: 'mlp.gate', ...sharedExperts },
    experts: { list: 'mlp.experts', parts: expertParts },
    selectionBias: 'mlp.gate.e_score_correction_bias',
    defaults: {
      rms_norm_eps: 1e-5,
      partial_rotary_factor: 0.5,
      n_routed_experts: 128,
      n_shared_experts: 1,
      num_experts_per_tok: 8,
      moe_intermediate_size: 1408,
      first_k_dense_replace: 1,
      norm_topk_prob: true,
    },
    parameters: (config) => ({
      leading_dense_block_count: config.number('first_k_dense_replace'),
      expert_used_count: config.size('num_experts_per_tok'),
      expert_feed_forward_length: config.size('moe_intermediate_size'),
      expert_shared_feed_forward_length: config.size('moe_intermediate_size') * config.size('n_shared_experts'),
      expert_weights_norm: config.flag('norm_topk_prob', true),
      expert_weights_scale: config.number('routed_scaling_factor', 1),
      expert_group_count: config.number('n_group', 1),
      expert_group_used_count: config.number('topk_group', 1),
    }),
  },
  DeepseekV2ForCausalLM: deepseek2,
  DeepseekV3ForCausalLM: deepseek3,
  DeepseekV32ForCausalLM: deepseek32,
  GlmMoeDsaForCausalLM: glmMoeDsa,
  Glm4MoeLiteForCausalLM: glm4MoeLite,
  Ernie4_5ForCausalLM: {
    architecture: 'ernie4_5',
    layer: plain,
    adjacentPairs: true,
    defaults: { ...ernieDefaults, head_dim: 128 },
  },
  Ernie4_5_MoeForCausalLM: {
    architecture: 'ernie4_5-moe',
    layer: { ...attention, ffn_norm: 'post_attention_layernorm' },
    adjacentPairs: true,
    denseLayer: feedForward,
    expertLayer: { ffn_gate_inp: 'mlp.gate', ...sharedExperts },
    experts: { list: 'mlp.experts', parts: expertParts },
    selectionBias: 'mlp.moe_statics.e_score_correction_bias',
    unneeded: /^model\.mtp_/,
    defaults: {
      ...ernieDefaults,
      moe_k: 6,
      moe_num_experts: 64,
      moe_num_shared_experts: 2,
      moe_intermediate_size: 1536,
      moe_layer_start_index: 1,
      moe_layer_interval: 1,
    },
    parameters: ernieExperts,
  },
  SeedOssForCausalLM: {
    architecture: 'seed_oss',
    layer: { ...attention, post_attention_norm: 'post_attention_layernorm', ...feedForward },
    defaults: { head_dim: 128 },
  },
  Exaone4ForCausalLM: {
    architecture: 'exaone4',
    layer: { ...attentionWithoutNorm, ...normsAfter, ...headNorms, ...feedForward },
    defaults: { rms_norm_eps: 1e-5 },
  },
  HunYuanDenseV1ForCausalLM: {
    architecture: 'hunyuan-dense',
    layer: { ...plain, ...hunyuanNorms },
    defaults: { rms_norm_eps: 1e-5 },
  },
  HunYuanMoEV1ForCausalLM: {
    architecture: 'hunyuan-moe',
    layer: {
      ...attention,
      ...hunyuanNorms,
      ffn_norm: 'post_attention_layernorm',
      ffn_gate_inp: 'mlp.gate.wg',
      ffn_gate_shexp: 'mlp.shared_mlp.gate_proj',
      ffn_up_shexp: 'mlp.shared_mlp.up_proj',
      ffn_down_shexp: 'mlp.shared_mlp.down_proj',
    },
    experts: { list: 'mlp.experts', parts: expertParts },
    defaults: { rms_norm_eps: 1e-5 },
    parameters: hunyuanExperts,
  },
  GptOssForCausalLM: {
    architecture: 'gpt-oss',
    layer: { ...attention, post_attention_norm: 'post_attention_layernorm', ffn_gate_inp: 'mlp.router' },
    parametersOfLayer: { attn_sinks: 'self_attn.sinks' },
    stackedExperts: 'mlp.experts',
    defaults: { rms_norm_eps: 1e-5, head_dim: 64, sliding_window: 128, num_experts_per_tok: 4 },
    parameters: (config) => ({
      expert_used_count: config.size('num_experts_per_tok'),
      expert_feed_forward_length: config.size('intermediate_size'),
    }),
  },
  Phi3ForCausalLM: {
    architecture: 'phi3',
    layer: {
      attn_norm: 'input_layernorm',
      attn_qkv: 'self_attn.qkv_proj',
      attn_output: 'self_attn.o_proj',
      ffn_norm: 'post_attention_layernorm',
      ...fusedFeedForward,
    },
    defaults: { rms_norm_eps: 1e-5 },
  },
  SmolLM3ForCausalLM: {
    architecture: 'smollm3',
    layer: plain,
    defaults: { ...wholeContext, tie_word_embeddings: true, rope_theta: 2e6 },
    parameters: (config) => ({ 'rope.unrotated_layers': unrotatedLayers(config) }),
  },
  Olmo2ForCausalLM: olmo,
  Olmo3ForCausalLM: { ...olmo, defaults: { ...olmo.defaults, sliding_window: 4096, rope_theta: 5e5 } },
  GraniteForCausalLM: {
    architecture: 'granite',
    layer: plain,
    parameters: graniteScales,
  },
  GraniteMoeHybridForCausalLM: graniteHybrid,
  BambaForCausalLM: bamba,
  Mamba2ForCausalLM: mamba2,
  FalconH1ForCausalLM: falconH1,
  NemotronHForCausalLM: nemotronH,
  GemmaForCausalLM: {
    architecture: 'gemma',
    layer: plain,
    gainsFromOne: true,
    // Files of the first release name another activation, which was a mistake.
    defaults: { hidden_activation: 'gelu_pytorch_tanh', tie_word_embeddings: true, head_dim: 256 },
  },
  Gemma2ForCausalLM: {
    architecture: 'gemma2',
    layer: normsAround,
    gainsFromOne: true,
    defaults: {
      hidden_activation: 'gelu_pytorch_tanh',
      tie_word_embeddings: true,
      head_dim: 256,
      sliding_window: 4096,
      query_pre_attn_scalar: 256,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
    },
    parameters: gemma3.parameters,
  },
  Gemma3ForCausalLM: gemma3,
  Gemma3ForConditionalGeneration: { ...gemma3, inner: 'text_config' },
  Gemma3nForCausalLM: gemma3n,
  Gemma3nForConditionalGeneration: { ...gemma3n, inner: 'text_config' },
  Gemma4ForCausalLM: gemma4,
  Gemma4ForConditionalGeneration: { ...gemma4, inner: 'text_config' },
  Gemma4UnifiedForConditionalGeneration: { ...gemma4Unified, inner: 'text_config' },
  LlavaForConditionalGeneration: llava,
  LlavaNextForConditionalGeneration: llava,
  Idefics3ForConditionalGeneration: idefics3,
  SmolVLMForConditionalGeneration: idefics3,
  GlmForCausalLM: {
    architecture: 'chatglm',
    layer: { ...attention, ffn_norm: 'post_attention_layernorm', ...fusedFeedForward },
    adjacentPairs: true,
    defaults: glmDefaults,
  },
  Glm4ForCausalLM: {
    architecture: 'glm4',
    layer: {
      ...attention,
      post_attention_norm: 'post_self_attn_layernorm',
      ffn_norm: 'post_attention_layernorm',
      ...fusedFeedForward,
      post_ffw_norm: 'post_mlp_layernorm',
    },
    adjacentPairs: true,
    defaults: glmDefaults,
  },
  CohereForCausalLM: cohere,
  Cohere2ForCausalLM: {
    ...cohere,
    architecture: 'cohere2',
    optional: {},
    defaults: { ...cohere.defaults, sliding_window: 4096 },
  },
  Lfm2ForCausalLM: lfm2,
  Lfm2MoeForCausalLM: lfm2moe,
  Qwen3NextForCausalLM: qwen3next,
  Qwen3_5ForCausalLM: qwen35,
  Qwen3_5ForConditionalGeneration: { ...qwen35, inner: 'text_config' },
  Qwen3_5MoeForCausalLM: qwen35moe,
  Qwen3_5MoeForConditionalGeneration: { ...qwen35moe, inner: 'text_config' },
};

const namesOfExpertCount = ['num_experts', 'n_routed_experts', 'moe_num_experts'];

/** Experts of each layer, 0 in a model without; the libraries have several names for them. */
export function expertCount(config: HubConfig, { hasExperts }: HubArchitecture): number {
  if (hasExperts?.(config) === false) return 0;
  const name = namesOfExpertCount.find((each) => config.has(each)) ?? 'num_local_experts';
  return config.number(name) === 0 ? 0 : config.size(name);
}

function softCaps(config: HubConfig): HubParameterValues {
  return {
    attn_logit_softcapping: config.number('attn_logit_softcapping', 0),
    final_logit_softcapping: config.number('final_logit_softcapping', 0),
  };
}

/** The file lists 1 for layers that rotate. */
function unrotatedLayers(config: HubConfig): boolean[] | undefined {
  if (config.has('no_rope_layers')) return config.numbers('no_rope_layers').map((rotates) => rotates === 0);
  const every = config.size('no_rope_layer_interval', 4);
  return Array.from({ length: config.size('num_hidden_layers') }, (_entry, layer) => (layer + 1) % every === 0);
}

/** Returns the table's entry. Throws `INVALID_MODEL` that names the architecture and the supported ones. */
export function findHubArchitecture(config: HubConfig): HubArchitecture {
  const { architectures } = config.values;
  const [name] = Array.isArray(architectures) ? architectures.map(String) : [];
  if (name === undefined) throw invalidFile('config.json', 'it names no architecture');
  const found = Object.hasOwn(hubArchitectures, name) ? hubArchitectures[name] : undefined;
  if (found !== undefined) return found.byInnerType?.[innerType(config, found)] ?? found;
  const known = Object.keys(hubArchitectures).join(', ');
  const instead = addedAsExport(name);
  const hint = instead === null ? '' : `. However, ${instead}`;
  throw invalidFile('config.json', `its architecture is ${name.slice(0, 80)}; ${known} are converted${hint}`);
}

function innerType(config: HubConfig, { inner = '' }: HubArchitecture): string {
  return config.object(inner)?.text('model_type', '') ?? '';
}
