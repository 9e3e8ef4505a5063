import { invalidFile } from '../invalid-file.js';
import type { HubConfig } from './hub-config.js';

/* Classes with layers that keep a state in place of keys and values, as `HubArchitecture` describes them. */

type Modules = Readonly<Record<string, string>>;

export interface LayerKinds {
  /** Returns the kind of each layer, as in `layer_types`. */
  of: (config: HubConfig) => readonly string[];
  /** Modules of each kind, beside those of every layer. */
  modules: Readonly<Record<string, Modules>>;
  /** Parameters of each kind that files may have, and that nothing reads. */
  unneeded?: Readonly<Record<string, readonly string[]>>;
  /** Kinds with experts; absent: all, in a model that has them. */
  withExperts?: readonly string[];
  /** Parameters of each kind without a module, by the ends of their GGUF names. */
  parameters?: Readonly<Record<string, Readonly<Record<string, LayerParameter>>>>;
}

export interface LayerParameter {
  name: string;
  /** Returns the value that GGUF stores instead. */
  change?: (value: number) => number;
}

const projections = { attn_q: 'self_attn.q_proj', attn_k: 'self_attn.k_proj', attn_v: 'self_attn.v_proj' };

export const lfm2 = {
  architecture: 'lfm2',
  layer: {
    attn_norm: 'operator_norm',
    ffn_norm: 'ffn_norm',
    ffn_gate: 'feed_forward.w1',
    ffn_up: 'feed_forward.w3',
    ffn_down: 'feed_forward.w2',
  },
  kinds: {
    of: lfm2Kinds,
    modules: {
      full_attention: {
        ...projections,
        attn_output: 'self_attn.out_proj',
        attn_q_norm: 'self_attn.q_layernorm',
        attn_k_norm: 'self_attn.k_layernorm',
      },
      conv: {
        'shortconv.in_proj': 'conv.in_proj',
        'shortconv.conv': 'conv.conv',
        'shortconv.out_proj': 'conv.out_proj',
      },
    },
  },
  outer: { token_embd: 'embed_tokens', token_embd_norm: 'embedding_norm' },
  otherNames: { tie_word_embeddings: 'tie_embedding', intermediate_size: 'block_ff_dim' },
  defaults: { tie_word_embeddings: true, rope_theta: 1e6, intermediate_size: 12_288, norm_eps: 1e-5 },
  parameters: (config: HubConfig) => ({
    'attention.layer_norm_rms_epsilon': config.number('norm_eps'),
    'attention.head_count_kv': lfm2Kinds(config).map((kind) =>
      kind === 'conv' ? 0 : config.size('num_key_value_heads', config.size('num_attention_heads')),
    ),
    'shortconv.l_cache': config.size('conv_L_cache', 3),
    feed_forward_length: lfm2FeedForward(config),
  }),
};

const lfm2FeedForwardModules = {
  ffn_gate: 'feed_forward.w1',
  ffn_up: 'feed_forward.w3',
  ffn_down: 'feed_forward.w2',
};

/** LFM2 with experts behind the first layers. */
export const lfm2moe = {
  ...lfm2,
  architecture: 'lfm2moe',
  layer: { attn_norm: 'operator_norm', ffn_norm: 'ffn_norm' },
  denseLayer: lfm2FeedForwardModules,
  expertLayer: { ffn_gate_inp: 'feed_forward.gate' },
  experts: {
    list: 'feed_forward.experts',
    parts: { ffn_gate_exps: 'w1', ffn_up_exps: 'w3', ffn_down_exps: 'w2' },
  },
  optionalSelectionBias: 'feed_forward.expert_bias',
  otherNames: { tie_word_embeddings: 'tie_embedding' },
  defaults: {
    tie_word_embeddings: true,
    rope_theta: 1e6,
    norm_eps: 1e-5,
    num_dense_layers: 2,
    num_experts: 32,
    num_experts_per_tok: 4,
    moe_intermediate_size: 1792,
  },
  parameters: (config: HubConfig) => ({
    ...lfm2.parameters(config),
    feed_forward_length: config.size('intermediate_size'),
    leading_dense_block_count: config.number('num_dense_layers'),
    expert_used_count: config.size('num_experts_per_tok'),
    expert_feed_forward_length: config.size('moe_intermediate_size'),
    expert_weights_norm: config.flag('norm_topk_prob', true),
    expert_weights_scale: config.number('routed_scaling_factor', 1),
  }),
};

const deltaNorms = { attn_norm: 'input_layernorm', post_attention_norm: 'post_attention_layernorm' };

export const qwen35 = {
  architecture: 'qwen35',
  layer: { ...deltaNorms, ffn_gate: 'mlp.gate_proj', ffn_up: 'mlp.up_proj', ffn_down: 'mlp.down_proj' },
  kinds: {
    of: deltaKinds,
    modules: {
      full_attention: {
        ...projections,
        attn_output: 'self_attn.o_proj',
        attn_q_norm: 'self_attn.q_norm',
        attn_k_norm: 'self_attn.k_norm',
      },
      linear_attention: {
        attn_qkv: 'linear_attn.in_proj_qkv',
        attn_gate: 'linear_attn.in_proj_z',
        ssm_alpha: 'linear_attn.in_proj_a',
        ssm_beta: 'linear_attn.in_proj_b',
        ssm_conv1d: 'linear_attn.conv1d',
        ssm_norm: 'linear_attn.norm',
        ssm_out: 'linear_attn.out_proj',
      },
    },
    parameters: {
      linear_attention: {
        'ssm_dt.bias': { name: 'linear_attn.dt_bias' },
        ssm_a: { name: 'linear_attn.A_log', change: (value: number) => -Math.exp(value) },
      },
    },
  },
  gainsFromOne: true as const,
  wholeGain: 'ssm_norm',
  groupedHeads: true as const,
  defaults: {
    head_dim: 256,
    partial_rotary_factor: 0.25,
    linear_conv_kernel_dim: 4,
    linear_key_head_dim: 128,
    linear_value_head_dim: 128,
    linear_num_key_heads: 16,
    linear_num_value_heads: 32,
  },
  parameters: (config: HubConfig) => {
    if (!config.flag('attn_output_gate', true)) {
      throw invalidFile('config.json', 'its attn_output_gate is false, and only attention with a gate is computed');
    }
    if (config.text('hidden_act', 'silu') !== 'silu') {
      throw invalidFile('config.json', `its hidden_act is ${config.text('hidden_act').slice(0, 40)}, not silu`);
    }
    return {
      'attention.recurrent_layers': deltaKinds(config).map((kind) => kind === 'linear_attention'),
      'ssm.conv_kernel': config.size('linear_conv_kernel_dim'),
      'ssm.state_size': config.size('linear_key_head_dim'),
      'ssm.group_count': config.size('linear_num_key_heads'),
      'ssm.time_step_rank': config.size('linear_num_value_heads'),
      'ssm.inner_size': config.size('linear_num_value_heads') * config.size('linear_value_head_dim'),
    };
  },
};

export const qwen35moe = {
  ...qwen35,
  architecture: 'qwen35moe',
  layer: {
    ...deltaNorms,
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
  // Their layers are experts, so that there is no size of others.
  defaults: {
    ...qwen35.defaults,
    intermediate_size: 512,
    num_experts: 256,
    num_experts_per_tok: 8,
    moe_intermediate_size: 512,
    shared_expert_intermediate_size: 512,
  },
  parameters: (config: HubConfig) => ({
    ...qwen35.parameters(config),
    expert_used_count: config.size('num_experts_per_tok'),
    expert_feed_forward_length: config.size('moe_intermediate_size'),
    expert_shared_feed_forward_length: config.size('shared_expert_intermediate_size'),
  }),
};

/** Qwen3-Next stores the linear layers of a gated DeltaNet layer as two. */
export const qwen3next = {
  ...qwen35moe,
  architecture: 'qwen3next',
  kinds: {
    ...qwen35.kinds,
    modules: {
      full_attention: qwen35.kinds.modules.full_attention,
      linear_attention: {
        ssm_in: 'linear_attn.in_proj_qkvz',
        ssm_ba: 'linear_attn.in_proj_ba',
        ssm_conv1d: 'linear_attn.conv1d',
        ssm_norm: 'linear_attn.norm',
        ssm_out: 'linear_attn.out_proj',
      },
    },
  },
  defaults: { ...qwen35moe.defaults, num_experts: 512, num_experts_per_tok: 10 },
  parameters: (config: HubConfig) => ({
    ...qwen35moe.parameters(config),
    expert_weights_norm: config.flag('norm_topk_prob', true),
  }),
};

/** `layer_types`, or the layers that attend, as earlier files list them. */
function lfm2Kinds(config: HubConfig): string[] {
  const layers = config.size('num_hidden_layers');
  const attending = new Set(config.has('full_attn_idxs') ? config.numbers('full_attn_idxs') : range(layers));
  return listedKinds(config) ?? range(layers).map((layer) => (attending.has(layer) ? 'full_attention' : 'conv'));
}

/** `layer_types`, or every n-th layer attends. */
function deltaKinds(config: HubConfig): string[] {
  const every = config.size('full_attention_interval', 4);
  const kindOf = (layer: number) => ((layer + 1) % every === 0 ? 'full_attention' : 'linear_attention');
  return listedKinds(config) ?? range(config.size('num_hidden_layers')).map(kindOf);
}

function listedKinds(config: HubConfig): string[] | null {
  const { layer_types: types } = config.values;
  if (!Array.isArray(types)) return null;
  const layers = config.size('num_hidden_layers');
  if (types.length === layers) return types.map(String);
  throw invalidFile('config.json', `its layer_types lists ${types.length} layers, not ${layers}`);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** The width of the feed-forward layers, which the file's own size is rounded to. */
function lfm2FeedForward(config: HubConfig): number {
  const size = config.size('intermediate_size');
  if (!config.flag('block_auto_adjust_ff_dim', true)) return size;
  const scaled = Math.floor(config.number('block_ffn_dim_multiplier', 1) * Math.floor((2 * size) / 3));
  const multiple = config.size('block_multiple_of', 256);
  return multiple * Math.ceil(scaled / multiple);
}
