import { invalidFile } from '../invalid-file.js';
import type { HubParameterValues } from './family-settings.js';
import type { HubConfig } from './hub-config.js';

/* Gemma 4, as `HubArchitecture` describes it. */

/** The language part of Gemma 4 E2B and E4B: inputs per layer, two sizes of heads, shared keys and values. */
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
      shared: {},
    },
    unneeded: { shared: ['self_attn.k_proj.weight', 'self_attn.v_proj.weight', 'self_attn.k_norm.weight'] },
  },
  optional: { inp_gate: 'per_layer_input_gate', proj: 'per_layer_projection', post_norm: 'post_per_layer_input_norm' },
  outer: { token_embd: 'embed_tokens', output_norm: 'norm' },
  optionalOuter: {
    per_layer_token_embd: 'embed_tokens_per_layer',
    per_layer_model_proj: 'per_layer_model_projection',
    per_layer_proj_norm: 'per_layer_projection_norm',
  },
  parametersOfLayer: { layer_output_scale: 'layer_scalar' },
  headSize: (config: HubConfig) => config.size('global_head_dim', config.size('head_dim')),
  defaults: {
    hidden_activation: 'gelu_pytorch_tanh',
    tie_word_embeddings: true,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    global_head_dim: 512,
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

function gemma4Kinds(config: HubConfig): string[] {
  const layers = config.size('num_hidden_layers');
  const first = layers - config.number('num_kv_shared_layers');
  return Array.from({ length: layers }, (_, layer) => (layer < first ? 'own' : 'shared'));
}

function gemma4Sizes(config: HubConfig): HubParameterValues {
  refuseGemma4(config);
  const size = config.size('intermediate_size');
  const isWide = config.flag('use_double_wide_mlp', false);
  const inputs = config.number('hidden_size_per_layer_input');
  const kinds = gemma4Kinds(config);
  return {
    'attention.scale': 1,
    'attention.key_length_swa': config.size('head_dim'),
    'attention.shared_kv_layers': config.number('num_kv_shared_layers'),
    'rope.dimension_count_swa': config.size('head_dim'),
    ...(isWide && { feed_forward_length: kinds.map((kind) => (kind === 'shared' ? 2 * size : size)) }),
    ...(inputs > 0 && { embedding_length_per_layer_input: inputs }),
    final_logit_softcapping: config.number('final_logit_softcapping', 0),
  };
}

/** Settings of the larger models, which have experts, or fewer heads of keys in some layers. */
function refuseGemma4(config: HubConfig): void {
  for (const name of ['enable_moe_block', 'attention_k_eq_v']) {
    if (!config.flag(name, false)) continue;
    throw invalidFile('config.json', `its ${name} is true, as in Gemma 4 26B and 31B; E2B and E4B are converted`);
  }
  const heads = config.size('num_key_value_heads');
  const others = config.number('num_global_key_value_heads', heads);
  if (others !== heads) {
    throw invalidFile('config.json', `its num_global_key_value_heads is ${others}, not ${heads} as in other layers`);
  }
  if (config.text('use_bidirectional_attention', '') === 'all') {
    throw invalidFile('config.json', 'its use_bidirectional_attention is all, and text is written forwards');
  }
}
