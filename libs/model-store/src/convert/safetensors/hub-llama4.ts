import { invalidFile } from '../invalid-file.js';
import type { HubParameterValues } from './family-settings.js';
import type { HubConfig } from './hub-config.js';
import { attention } from './layer-modules.js';

/** The language part of Llama 4, as `HubArchitecture` describes it. */
export const llama4 = {
  architecture: 'llama4',
  layer: { ...attention, ffn_norm: 'post_attention_layernorm' },
  kinds: {
    of: llama4Kinds,
    modules: {
      mlp: {
        ffn_gate: 'feed_forward.gate_proj',
        ffn_up: 'feed_forward.up_proj',
        ffn_down: 'feed_forward.down_proj',
      },
      moe: {
        ffn_gate_inp: 'feed_forward.router',
        ffn_gate_shexp: 'feed_forward.shared_expert.gate_proj',
        ffn_up_shexp: 'feed_forward.shared_expert.up_proj',
        ffn_down_shexp: 'feed_forward.shared_expert.down_proj',
      },
    },
    withExperts: ['moe'],
  },
  transposedExperts: 'feed_forward.experts',
  adjacentPairs: true as const,
  defaults: {
    rms_norm_eps: 1e-5,
    rope_theta: 5e5,
    head_dim: 128,
    num_local_experts: 16,
    num_experts_per_tok: 1,
    interleave_moe_layer_step: 1,
    attention_chunk_size: 8192,
    floor_scale: 8192,
    attn_scale: 0.1,
  },
  parameters: llama4Sizes,
};

/** Layers with experts are listed, or every n-th. */
function llama4Kinds(config: HubConfig): string[] {
  const step = config.size('interleave_moe_layer_step');
  const listed = config.has('moe_layers') ? new Set(config.numbers('moe_layers')) : null;
  return Array.from({ length: config.size('num_hidden_layers') }, (_, layer) =>
    (listed?.has(layer) ?? (layer + 1) % step === 0) ? 'moe' : 'mlp',
  );
}

/** The file lists 1 for layers that rotate; an empty list is that of every fourth layer. */
function rotatingLayers(config: HubConfig): boolean[] {
  const layers = config.size('num_hidden_layers');
  const listed = config.has('no_rope_layers') ? config.numbers('no_rope_layers') : [];
  const every = config.size('no_rope_layer_interval', 4);
  const rotating = Array.from({ length: layers }, (_, layer) =>
    listed.length === 0 ? (layer + 1) % every !== 0 : listed[layer] === 1,
  );
  const { layer_types: types } = config.values;
  const isOther = (type: unknown, layer: number) => (type === 'chunked_attention') !== rotating[layer];
  if (!Array.isArray(types) || !types.some(isOther)) return rotating;
  throw invalidFile(
    'config.json',
    'its layer_types and no_rope_layers disagree about the layers whose attention is chunked',
  );
}

function llama4Sizes(config: HubConfig): HubParameterValues {
  const rotating = rotatingLayers(config);
  // The first files have a number where later ones have true.
  const { attn_temperature_tuning: grows = true } = config.values;
  return {
    'attention.sliding_window': config.size('attention_chunk_size'),
    'attention.sliding_window_pattern': rotating,
    'rope.unrotated_layers': rotating.map((rotates) => !rotates),
    'attention.rotated_norm': config.flag('use_qk_norm', true),
    'attention.temperature_scale': grows === false || grows === 0 ? 0 : config.number('attn_scale'),
    'attention.temperature_length': config.size('floor_scale'),
    feed_forward_length: config.size('intermediate_size_mlp', config.size('intermediate_size')),
    expert_feed_forward_length: config.size('intermediate_size'),
    expert_shared_feed_forward_length: config.size('intermediate_size'),
    expert_used_count: config.size('num_experts_per_tok'),
  };
}
