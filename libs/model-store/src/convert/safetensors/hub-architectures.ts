import { invalidFile } from '../invalid-file.js';
import type { HubConfig, ParameterValue } from './hub-config.js';
import { type LayerKinds, lfm2, qwen35, qwen35moe } from './hub-state-architectures.js';

type Parameters = Record<string, ParameterValue | undefined>;

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
  /** Modules that some models of the architecture have. */
  optional?: Readonly<Record<string, string>>;
  /**
   * Modules of each expert, `<list>.<expert>.<part>`, which GGUF stacks. Some files stack them too, with gate and up in
   * one: `<list>.gate_up_proj` and `<list>.down_proj`.
   */
  experts?: { list: string; parts: Readonly<Record<string, string>> };
  /** Module of all experts, stacked as in gpt-oss: in MXFP4, or as floats. */
  stackedExperts?: string;
  /** Parameters without a module, by their GGUF names. */
  parametersOfLayer?: Readonly<Record<string, string>>;
  /** Members that files may have under another name, which counts where both are there. */
  otherNames?: Readonly<Record<string, string>>;
  /** Members that files leave out where they are these. */
  defaults?: Readonly<Record<string, unknown>>;
  /** Queries and keys have the two values of a rotary pair side by side. */
  adjacentPairs?: true;
  /** Gains of norms are stored as their difference from one. */
  gainsFromOne?: true;
  /** The norm whose gain is stored whole nevertheless. */
  wholeGain?: string;
  /** Value heads that share a key head follow each other. */
  groupedHeads?: true;
  /** The decoder is part of a model that sees; its settings are in this member. */
  inner?: string;
  /** Values by GGUF's keys beside sizes, activation, window and rotation. */
  parameters?: (config: HubConfig) => Parameters;
}

const attention = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
};
const { attn_norm: _, ...attentionWithoutNorm } = attention;
const feedForward = { ffn_gate: 'mlp.gate_proj', ffn_up: 'mlp.up_proj', ffn_down: 'mlp.down_proj' };
const fusedFeedForward = { ffn_up: 'mlp.gate_up_proj', ffn_down: 'mlp.down_proj' };
const headNorms = { attn_q_norm: 'self_attn.q_norm', attn_k_norm: 'self_attn.k_norm' };
const plain = { ...attention, ffn_norm: 'post_attention_layernorm', ...feedForward };
const normsAfter = { post_attention_norm: 'post_attention_layernorm', post_ffw_norm: 'post_feedforward_layernorm' };
const normsAround = { ...attention, ...normsAfter, ffn_norm: 'pre_feedforward_layernorm', ...feedForward };
const wholeContext = { use_sliding_window: false };

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
  MistralForCausalLM: { architecture: 'llama', layer: plain, defaults: { sliding_window: 4096 } },
  Mistral3ForConditionalGeneration: { architecture: 'llama', layer: plain, inner: 'text_config' },
  MixtralForCausalLM: {
    architecture: 'llama',
    layer: { ...attention, ffn_norm: 'post_attention_layernorm', ffn_gate_inp: 'block_sparse_moe.gate' },
    experts: {
      list: 'block_sparse_moe.experts',
      parts: { ffn_gate_exps: 'w1', ffn_down_exps: 'w2', ffn_up_exps: 'w3' },
    },
    defaults: { rms_norm_eps: 1e-5, rope_theta: 1e6, num_experts_per_tok: 2 },
    parameters: (config) => ({ expert_used_count: config.size('num_experts_per_tok') }),
  },
  Qwen2ForCausalLM: { architecture: 'qwen2', layer: plain, defaults: wholeContext },
  Qwen3ForCausalLM: {
    architecture: 'qwen3',
    layer: { ...plain, ...headNorms },
    defaults: { ...wholeContext, head_dim: 128 },
  },
  Qwen3MoeForCausalLM: {
    architecture: 'qwen3moe',
    layer: { ...attention, ...headNorms, ffn_norm: 'post_attention_layernorm', ffn_gate_inp: 'mlp.gate' },
    experts: {
      list: 'mlp.experts',
      parts: { ffn_gate_exps: 'gate_proj', ffn_up_exps: 'up_proj', ffn_down_exps: 'down_proj' },
    },
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
    experts: {
      list: 'mlp.experts',
      parts: { ffn_gate_exps: 'gate_proj', ffn_up_exps: 'up_proj', ffn_down_exps: 'down_proj' },
    },
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
    parameters: (config) => ({
      embedding_scale: config.number('embedding_multiplier', 1),
      residual_scale: config.number('residual_multiplier', 1),
      'attention.scale': config.number('attention_multiplier', 1),
      logit_scale: config.number('logits_scaling', 1),
    }),
  },
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
    defaults: { partial_rotary_factor: 0.5, rms_norm_eps: 1.5625e-7, head_dim: 128 },
  },
  CohereForCausalLM: cohere,
  Cohere2ForCausalLM: {
    ...cohere,
    architecture: 'cohere2',
    optional: {},
    defaults: { ...cohere.defaults, sliding_window: 4096 },
  },
  Lfm2ForCausalLM: lfm2,
  Qwen3_5ForCausalLM: qwen35,
  Qwen3_5ForConditionalGeneration: { ...qwen35, inner: 'text_config' },
  Qwen3_5MoeForCausalLM: qwen35moe,
  Qwen3_5MoeForConditionalGeneration: { ...qwen35moe, inner: 'text_config' },
};

/** Experts of each layer; the libraries have two names for them. */
export function expertCount(config: HubConfig): number {
  return config.size(config.has('num_experts') ? 'num_experts' : 'num_local_experts');
}

function softCaps(config: HubConfig): Parameters {
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
export function findHubArchitecture({ values }: HubConfig): HubArchitecture {
  const { architectures } = values;
  const [name] = Array.isArray(architectures) ? architectures.map(String) : [];
  if (name === undefined) throw invalidFile('config.json', 'it names no architecture');
  const found = Object.hasOwn(hubArchitectures, name) ? hubArchitectures[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(hubArchitectures).join(', ');
  throw invalidFile('config.json', `its architecture is ${name.slice(0, 80)}; ${known} are converted`);
}
