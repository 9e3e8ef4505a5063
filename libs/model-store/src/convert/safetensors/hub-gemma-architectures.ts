import { invalidFile } from '../invalid-file.js';
import type { HubParameterValues } from './family-settings.js';
import type { HubConfig } from './hub-config.js';
import { normalQuantile } from './normal-quantile.js';

/* Gemma 3n and 4, as `HubArchitecture` describes them. */

/** The language part of Gemma 4: two sizes of heads, and inputs per layer with shared keys and values, or experts. */
export const gemma4 = {
  architecture: 'gemma4',
  layer: {
    attn_norm: 'input_layernorm',
    attn_q: 'self_attn.q_proj',
    attn_q_norm: 'self_attn.q_norm',
    attn_output: 'self_attn.o_proj',
    post_attention_norm: 'post_attention_layernorm',
    ffn_norm: 'pre_feedforward_layernorm',
    ffn_gate: 'mlp.gate_proj',
    ffn_up: 'mlp.up_proj',
    ffn_down: 'mlp.down_proj',
    post_ffw_norm: 'post_feedforward_layernorm',
  },
  kinds: {
    of: gemma4Kinds,
    modules: {
      own: { attn_k: 'self_attn.k_proj', attn_v: 'self_attn.v_proj', attn_k_norm: 'self_attn.k_norm' },
      equal: { attn_k: 'self_attn.k_proj', attn_k_norm: 'self_attn.k_norm' },
      shared: {},
    },
    unneeded: { shared: ['self_attn.k_proj.weight', 'self_attn.v_proj.weight', 'self_attn.k_norm.weight'] },
  },
  expertLayer: {
    ffn_gate_inp: 'router.proj',
    pre_ffw_norm_2: 'pre_feedforward_layernorm_2',
    post_ffw_norm_1: 'post_feedforward_layernorm_1',
    post_ffw_norm_2: 'post_feedforward_layernorm_2',
  },
  experts: {
    list: 'experts',
    parts: { ffn_gate_exps: 'gate_proj', ffn_up_exps: 'up_proj', ffn_down_exps: 'down_proj' },
  },
  hasExperts: (config: HubConfig) => config.flag('enable_moe_block', false),
  parametersOfExperts: { 'ffn_gate_inp.scale': 'router.scale', 'ffn_down_exps.scale': 'router.per_expert_scale' },
  optional: { inp_gate: 'per_layer_input_gate', proj: 'per_layer_projection', post_norm: 'post_per_layer_input_norm' },
  outer: { token_embd: 'embed_tokens', output_norm: 'norm' },
  optionalOuter: {
    per_layer_token_embd: 'embed_tokens_per_layer',
    per_layer_model_proj: 'per_layer_model_projection',
    per_layer_proj_norm: 'per_layer_projection_norm',
  },
  parametersOfLayer: { layer_output_scale: 'layer_scalar' },
  headSize: (config: HubConfig) => settingOfWholeContext(config, 'global_head_dim') ?? 512,
  defaults: {
    hidden_activation: 'gelu_pytorch_tanh',
    tie_word_embeddings: true,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    max_position_embeddings: 131_072,
    sliding_window: 512,
    hidden_size_per_layer_input: 256,
    num_kv_shared_layers: 0,
    rope_parameters: {
      full_attention: { rope_type: 'proportional', partial_rotary_factor: 0.25, rope_theta: 1e6 },
      sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
    },
  },
  parameters: gemma4Sizes,
};

/** Gemma 4 12B, one network for text, images and sounds, without inputs per layer and experts. */
export const gemma4Unified = {
  ...gemma4,
  defaults: {
    ...gemma4.defaults,
    max_position_embeddings: 262_144,
    sliding_window: 1024,
    hidden_size_per_layer_input: 0,
  },
};

/** The language part of Gemma 3n: several residual streams, inputs per layer, and shared keys and values. */
export const gemma3n = {
  architecture: 'gemma3n',
  layer: {
    ...gemma4.layer,
    inp_gate: 'per_layer_input_gate',
    proj: 'per_layer_projection',
    post_norm: 'post_per_layer_input_norm',
    laurel_l: 'laurel.linear_left',
    laurel_r: 'laurel.linear_right',
    laurel_post_norm: 'laurel.post_laurel_norm',
    altup_router: 'altup.modality_router',
    altup_router_norm: 'altup.router_norm',
    altup_predict_coef: 'altup.prediction_coefs',
    altup_correct_coef: 'altup.correction_coefs',
  },
  parametersOfLayer: { altup_correct_scale: 'altup.correct_output_scale' },
  kinds: { of: sharingKinds, modules: gemma4.kinds.modules, unneeded: gemma4.kinds.unneeded },
  outer: { ...gemma4.outer, ...gemma4.optionalOuter },
  stackedOuter: {
    count: (config: HubConfig) => config.size('altup_num_inputs') - 1,
    lists: { altup_proj: 'altup_projections', altup_unembd_proj: 'altup_unembed_projections' },
  },
  defaults: {
    hidden_activation: 'gelu_pytorch_tanh',
    tie_word_embeddings: true,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    head_dim: 256,
    max_position_embeddings: 32_768,
    sliding_window: 512,
    rope_theta: 1e6,
    hidden_size_per_layer_input: 256,
    num_kv_shared_layers: 15,
    altup_num_inputs: 4,
    altup_active_idx: 0,
    final_logit_softcapping: 30,
  },
  parameters: (config: HubConfig): HubParameterValues => {
    if (!config.flag('altup_correct_scale', true)) {
      throw invalidFile('config.json', 'its altup_correct_scale is false, and only scaled corrections are computed');
    }
    return {
      'attention.scale': 1,
      'attention.shared_kv_layers': config.number('num_kv_shared_layers'),
      'altup.num_inputs': config.size('altup_num_inputs'),
      'altup.active_idx': config.number('altup_active_idx'),
      embedding_length_per_layer_input: config.size('hidden_size_per_layer_input'),
      activation_sparsity_scale: sparseShares(config).map(normalQuantile),
      final_logit_softcapping: config.number('final_logit_softcapping'),
    };
  },
};

/** The last layers use keys and values of earlier ones. */
function sharingKinds(config: HubConfig): string[] {
  const layers = config.size('num_hidden_layers');
  const first = layers - config.number('num_kv_shared_layers');
  return Array.from({ length: layers }, (_, layer) => (layer < first ? 'own' : 'shared'));
}

/** The share of gates of each layer that do not count. Without a list it is the same in the first ten of more layers. */
function sparseShares(config: HubConfig): number[] {
  if (config.has('activation_sparsity_pattern')) return config.numbers('activation_sparsity_pattern');
  const layers = config.size('num_hidden_layers');
  return Array.from({ length: layers }, (_, layer) => (layers > 10 && layer < 10 ? 0.95 : 0));
}

/** Whether layers use keys and values of another, have their own, or have keys that are values too. */
function gemma4Kinds(config: HubConfig): string[] {
  const layers = config.size('num_hidden_layers');
  const first = layers - config.number('num_kv_shared_layers');
  const ofWholeContext = config.flag('attention_k_eq_v', false) ? 'equal' : 'own';
  const own = windowedLayers(config).map((hasWindow) => (hasWindow ? 'own' : ofWholeContext));
  return Array.from({ length: layers }, (_, layer) => (layer < first ? (own[layer] ?? 'own') : 'shared'));
}

function gemma4Sizes(config: HubConfig): HubParameterValues {
  if (config.text('use_bidirectional_attention', '') === 'all') {
    throw invalidFile('config.json', 'its use_bidirectional_attention is all, and text is written forwards');
  }
  const size = config.size('intermediate_size');
  const inputs = config.number('hidden_size_per_layer_input');
  const kinds = gemma4Kinds(config);
  const isWide = config.flag('use_double_wide_mlp', false) && kinds.includes('shared');
  return {
    'attention.scale': 1,
    ...gemma4Heads(config),
    'attention.key_length_swa': config.size('head_dim'),
    'attention.shared_kv_layers': config.number('num_kv_shared_layers'),
    'rope.dimension_count_swa': config.size('head_dim'),
    ...(isWide && { feed_forward_length: kinds.map((kind) => (kind === 'shared' ? 2 * size : size)) }),
    ...(inputs > 0 && { embedding_length_per_layer_input: inputs }),
    ...(config.flag('enable_moe_block', false) && {
      expert_used_count: config.size('top_k_experts'),
      expert_feed_forward_length: config.size('moe_intermediate_size'),
    }),
    final_logit_softcapping: config.number('final_logit_softcapping', 0),
  };
}

/** Layers that see the whole context have their own number of key-value heads where their keys are values. */
function gemma4Heads(config: HubConfig): HubParameterValues {
  if (!config.flag('attention_k_eq_v', false)) return {};
  const heads = config.size('num_key_value_heads');
  const others = settingOfWholeContext(config, 'num_global_key_value_heads') ?? heads;
  return { 'attention.head_count_kv': windowedLayers(config).map((hasWindow) => (hasWindow ? heads : others)) };
}

/** A flag per layer; every sixth sees the whole context where the file does not list them. */
function windowedLayers(config: HubConfig): boolean[] {
  const isWindowed = (_: unknown, layer: number) => (layer + 1) % 6 !== 0;
  return config.listedWindows ?? Array.from({ length: config.size('num_hidden_layers') }, isWindowed);
}

const namesPerLayer = { global_head_dim: 'head_dim', num_global_key_value_heads: 'num_key_value_heads' } as const;

/** A setting of the layers that see the whole context. Files of later libraries have it per layer. */
function settingOfWholeContext(config: HubConfig, name: keyof typeof namesPerLayer): number | undefined {
  if (config.has(name)) return config.size(name);
  const perLayer = config.object('per_layer_config');
  if (perLayer === null) return undefined;
  const windowed = windowedLayers(config);
  const values = windowed.map((hasWindow, layer) => {
    const settings = perLayer.object(String(layer));
    const isGiven = settings?.has(namesPerLayer[name]) === true;
    return isGiven && !hasWindow ? settings.size(namesPerLayer[name]) : undefined;
  });
  const [first, ...others] = values.filter((_, layer) => windowed[layer] === false);
  const isOfOthers = windowed.some((hasWindow, layer) => hasWindow && perLayer.has(String(layer)));
  if (!isOfOthers && others.every((value) => value === first)) return first;
  throw invalidFile('config.json', 'its per_layer_config differs between layers of one kind');
}
