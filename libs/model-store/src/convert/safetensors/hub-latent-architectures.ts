import { invalidFile } from '../invalid-file.js';
import type { HubParameterValues } from './family-settings.js';
import type { HubConfig } from './hub-config.js';

/* Classes with attention to latents, as `HubArchitecture` describes them. */

const feedForward = { ffn_gate: 'mlp.gate_proj', ffn_up: 'mlp.up_proj', ffn_down: 'mlp.down_proj' };

const common = {
  architecture: 'deepseek2',
  layer: {
    attn_norm: 'input_layernorm',
    attn_kv_a_mqa: 'self_attn.kv_a_proj_with_mqa',
    attn_kv_a_norm: 'self_attn.kv_a_layernorm',
    attn_kv_b: 'self_attn.kv_b_proj',
    attn_output: 'self_attn.o_proj',
    ffn_norm: 'post_attention_layernorm',
  },
  kinds: {
    of: (config: HubConfig) => {
      const kind = config.has('q_lora_rank') ? 'latent-queries' : 'direct-queries';
      return Array.from({ length: config.size('num_hidden_layers') }, () => kind);
    },
    modules: {
      'direct-queries': { attn_q: 'self_attn.q_proj' },
      'latent-queries': {
        attn_q_a: 'self_attn.q_a_proj',
        attn_q_a_norm: 'self_attn.q_a_layernorm',
        attn_q_b: 'self_attn.q_b_proj',
      },
    },
  },
  adjacentPairs: true as const,
  headSize: (config: HubConfig) => config.size('qk_rope_head_dim'),
  denseLayer: feedForward,
  expertLayer: {
    ffn_gate_inp: 'mlp.gate',
    ffn_gate_shexp: 'mlp.shared_experts.gate_proj',
    ffn_up_shexp: 'mlp.shared_experts.up_proj',
    ffn_down_shexp: 'mlp.shared_experts.down_proj',
  },
  experts: {
    list: 'mlp.experts',
    parts: { ffn_gate_exps: 'gate_proj', ffn_up_exps: 'up_proj', ffn_down_exps: 'down_proj' },
  },
};

const sizes = { kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 };

export const deepseek2 = {
  ...common,
  defaults: {
    ...sizes,
    q_lora_rank: 1536,
    first_k_dense_replace: 0,
    n_routed_experts: 64,
    n_shared_experts: 2,
    moe_intermediate_size: 1407,
    topk_method: 'greedy',
  },
  parameters: (config: HubConfig): HubParameterValues => {
    requireValue(config, 'scoring_func', 'softmax');
    const method = config.text('topk_method');
    if (method !== 'greedy') requireValue(config, 'topk_method', 'group_limited_greedy');
    // The authors' code does not scale weights that add up to one, and the libraries ignore the setting.
    if (config.flag('norm_topk_prob', false)) throw refused('norm_topk_prob', true);
    return {
      ...latentParameters(config),
      ...(method !== 'greedy' && groups(config)),
    };
  },
};

export const deepseek3 = {
  ...common,
  selectionBias: 'mlp.gate.e_score_correction_bias',
  defaults: {
    ...sizes,
    q_lora_rank: 1536,
    first_k_dense_replace: 3,
    n_routed_experts: 256,
    n_shared_experts: 1,
    num_experts_per_tok: 8,
    moe_intermediate_size: 2048,
    n_group: 8,
    topk_group: 4,
    routed_scaling_factor: 2.5,
    norm_topk_prob: true,
  },
  parameters: sigmoidParameters,
};

const indexer = {
  'indexer.attn_q_b': 'self_attn.indexer.wq_b',
  'indexer.attn_k': 'self_attn.indexer.wk',
  'indexer.k_norm': 'self_attn.indexer.k_norm',
  'indexer.proj': 'self_attn.indexer.weights_proj',
};

/** Layers that attend to the positions that an indexer chooses, their own or that of a layer before them. */
const sparse = {
  ...deepseek3,
  kinds: {
    of: indexerTypes,
    modules: {
      full: { ...common.kinds.modules['latent-queries'], ...indexer },
      shared: common.kinds.modules['latent-queries'],
    },
  },
};

export const deepseek32 = {
  ...sparse,
  architecture: 'deepseek32',
  defaults: { ...deepseek3.defaults, index_topk: 2048, index_head_dim: 128, index_n_heads: 64 },
  parameters: (config: HubConfig) => sparseParameters(config, false),
};

export const glmMoeDsa = {
  ...sparse,
  architecture: 'glm-dsa',
  defaults: {
    ...deepseek3.defaults,
    q_lora_rank: 2048,
    qk_nope_head_dim: 192,
    v_head_dim: 256,
    rms_norm_eps: 1e-5,
    n_group: 1,
    topk_group: 1,
    index_topk: 2048,
    index_head_dim: 128,
    index_n_heads: 32,
  },
  parameters: (config: HubConfig) => sparseParameters(config, true),
};

export const glm4MoeLite = {
  ...deepseek3,
  defaults: {
    kv_lora_rank: 512,
    q_lora_rank: 768,
    qk_nope_head_dim: 192,
    qk_rope_head_dim: 64,
    v_head_dim: 256,
    rms_norm_eps: 1e-5,
    first_k_dense_replace: 1,
    n_routed_experts: 64,
    n_shared_experts: 1,
    num_experts_per_tok: 4,
    moe_intermediate_size: 1536,
    routed_scaling_factor: 1.8,
    norm_topk_prob: true,
  },
};

/** Mistral Small 4: experts by a softmax, and queries that grow with their position. */
export const mistral4 = {
  ...common,
  architecture: 'mistral4',
  // Files give the rotated part as a share of the whole head.
  headSize: (config: HubConfig) => (rotatedShare(config) === 1 ? config.size('qk_rope_head_dim') : wholeHead(config)),
  defaults: {
    kv_lora_rank: 256,
    q_lora_rank: 1024,
    qk_nope_head_dim: 64,
    qk_rope_head_dim: 64,
    v_head_dim: 128,
    first_k_dense_replace: 0,
    n_routed_experts: 128,
    n_shared_experts: 1,
    num_experts_per_tok: 4,
    moe_intermediate_size: 2048,
    norm_topk_prob: true,
  },
  parameters: (config: HubConfig): HubParameterValues => {
    const groupCount = config.number('n_group', 1);
    if (groupCount !== 1) throw refused('n_group', groupCount);
    const share = rotatedShare(config);
    if (share !== 1 && wholeHead(config) * share !== config.size('qk_rope_head_dim')) {
      throw refused('partial_rotary_factor', share);
    }
    return { ...latentParameters(config, share), expert_weights_norm: config.flag('norm_topk_prob', true) };
  },
};

function wholeHead(config: HubConfig): number {
  return config.size('qk_nope_head_dim') + config.size('qk_rope_head_dim');
}

function rotarySettings(config: HubConfig): HubConfig | null {
  return config.object('rope_parameters') ?? config.object('rope_scaling');
}

function rotatedShare(config: HubConfig): number {
  return rotarySettings(config)?.number('partial_rotary_factor', 1) ?? 1;
}

function sigmoidParameters(config: HubConfig): HubParameterValues {
  requireValue(config, 'scoring_func', 'sigmoid');
  requireValue(config, 'topk_method', 'noaux_tc');
  return {
    ...latentParameters(config),
    ...groups(config),
    // GGUF's number of sigmoids.
    expert_gating_func: 2,
    expert_weights_norm: config.flag('norm_topk_prob', true),
  };
}

/** The libraries rotate the heads of an indexer in the way of the class, whatever the file says. */
function sparseParameters(config: HubConfig, isInterleaved: boolean): HubParameterValues {
  const name = 'indexer_rope_interleave';
  const stated = config.flag(name, isInterleaved);
  if (stated !== isInterleaved) throw refused(name, stated);
  return {
    ...sigmoidParameters(config),
    'attention.indexer.head_count': config.size('index_n_heads'),
    'attention.indexer.key_length': config.size('index_head_dim'),
    'attention.indexer.top_k': config.size('index_topk'),
    'attention.indexer.types': indexerTypes(config).map((type) => type === 'full'),
  };
}

/** Whether each layer has an indexer (`full`): listed, in letters, or every how many layers behind the first ones. */
function indexerTypes(config: HubConfig): string[] {
  const layers = config.size('num_hidden_layers');
  const letters: Readonly<Record<string, string>> = { F: 'full', S: 'shared' };
  const { indexer_types: types, index_topk_pattern: pattern } = config.values;
  const listed = types ?? (typeof pattern === 'string' ? [...pattern].map((each) => letters[each] ?? each) : pattern);
  if (Array.isArray(listed)) {
    if (listed.length >= layers) return listed.slice(0, layers).map(String);
    throw invalidFile('config.json', `it lists the indexers of ${listed.length} layers, not ${layers}`);
  }
  const every = Math.max(1, config.number('index_topk_freq', 1));
  const first = config.number('index_skip_topk_offset', 2) - 1;
  return Array.from({ length: layers }, (_, layer) => (Math.max(0, layer - first) % every === 0 ? 'full' : 'shared'));
}

function groups(config: HubConfig): HubParameterValues {
  const count = config.number('n_group', 1);
  return { expert_group_count: count, expert_group_used_count: config.number('topk_group', count) };
}

/** `expectedShare` is the `partial_rotary_factor` that the class computes with. */
function latentParameters(config: HubConfig, expectedShare = 1): HubParameterValues {
  const settings = rotarySettings(config);
  for (const name of ['attention_bias', 'mlp_bias']) if (config.flag(name, false)) throw refused(name, true);
  if (!config.flag('rope_interleave', true)) throw refused('rope_interleave', false);
  for (const holder of [config, settings]) {
    const share = holder?.number('partial_rotary_factor', expectedShare) ?? expectedShare;
    if (share !== expectedShare) throw refused('partial_rotary_factor', share);
  }
  const heads = config.size('num_attention_heads');
  const keyValueHeads = config.size('num_key_value_heads', heads);
  if (keyValueHeads !== heads) throw refused('num_key_value_heads', `${keyValueHeads} beside ${heads} heads`);
  const innerSize = config.size('moe_intermediate_size');
  return {
    'attention.key_length': wholeHead(config),
    'attention.value_length': config.size('v_head_dim'),
    'attention.kv_lora_rank': config.size('kv_lora_rank'),
    'attention.q_lora_rank': config.has('q_lora_rank') ? config.size('q_lora_rank') : undefined,
    // The libraries leave it at the default of the norm, whatever the file says of the others.
    'attention.latent_norm_epsilon': 1e-6,
    // GGUF's growth of scores by the logarithm of the factor.
    'rope.scaling.yarn_log_multiplier': 0.1 * (settings?.number('mscale_all_dim', 0) ?? 0),
    leading_dense_block_count: denseLayers(config),
    interleave_moe_layer_step: config.number('moe_layer_freq', 1),
    expert_used_count: config.size('num_experts_per_tok'),
    expert_feed_forward_length: innerSize,
    expert_shared_feed_forward_length: innerSize * config.size('n_shared_experts'),
    expert_weights_norm: false,
    expert_weights_scale: config.number('routed_scaling_factor', 1),
  };
}

/** Later files list the kind of each layer, others the number of the first ones without experts. */
function denseLayers(config: HubConfig): number {
  const { mlp_layer_types: types } = config.values;
  if (!Array.isArray(types)) return config.number('first_k_dense_replace');
  const kinds = types.map(String);
  const dense = kinds.findIndex((kind) => kind !== 'dense');
  const isPrefix = dense >= 0 && kinds.slice(dense).every((kind) => kind === 'sparse');
  if (isPrefix && kinds.length === config.size('num_hidden_layers')) return dense;
  throw refused('mlp_layer_types', kinds.join(', ').slice(0, 60));
}

/** The member may be missing. */
function requireValue(config: HubConfig, name: string, value: string): void {
  const found = config.text(name, value);
  if (found !== value) throw refused(name, found.slice(0, 40));
}

function refused(name: string, value: unknown): Error {
  return invalidFile('config.json', `its ${name} is ${String(value)}, which is not computed here`);
}
