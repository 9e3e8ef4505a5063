import { invalidFile } from '../invalid-file.js';
import { graniteScales, type HubParameterValues } from './family-settings.js';
import type { HubConfig } from './hub-config.js';
import { attention, attentionWithoutNorm } from './layer-modules.js';
import type { RowFactors } from './scaled-tensor.js';

/* Classes with Mamba 2 layers, as `HubArchitecture` describes them. */

const mambaModules = {
  ssm_in: 'mamba.in_proj',
  ssm_conv1d: 'mamba.conv1d',
  ssm_norm: 'mamba.norm',
  ssm_out: 'mamba.out_proj',
};

/** A_log is the logarithm of what a head decays by. */
const mambaParameters = {
  'ssm_dt.bias': { name: 'mamba.dt_bias' },
  ssm_a: { name: 'mamba.A_log', change: (value: number) => -Math.exp(value) },
  ssm_d: { name: 'mamba.D' },
};

/** The same where the layer has one part only. */
const mixerModules = Object.fromEntries(
  Object.entries(mambaModules).map(([name, module]) => [name, module.replace('mamba', 'mixer')]),
);
const mixerParameters = {
  'ssm_dt.bias': { name: 'mixer.dt_bias' },
  ssm_a: { ...mambaParameters.ssm_a, name: 'mixer.A_log' },
  ssm_d: { name: 'mixer.D' },
};

/** Granite 4: layers of attention only, or mostly of Mamba 2, with and without experts. */
export const graniteHybrid = {
  architecture: 'granitehybrid',
  layer: { attn_norm: 'input_layernorm', ffn_norm: 'post_attention_layernorm' },
  kinds: {
    of: graniteKinds,
    modules: {
      attention: attentionWithoutNorm,
      mamba: mambaModules,
    },
    parameters: { mamba: mambaParameters },
  },
  denseLayer: { ffn_up: 'shared_mlp.input_linear', ffn_down: 'shared_mlp.output_linear' },
  expertLayer: {
    ffn_gate_inp: 'block_sparse_moe.router.layer',
    ffn_up_shexp: 'shared_mlp.input_linear',
    ffn_down_shexp: 'shared_mlp.output_linear',
  },
  experts: {
    list: 'block_sparse_moe',
    parts: {},
    stacked: { gateAndUp: 'input_linear.weight', down: 'output_linear.weight' },
  },
  defaults: {
    num_local_experts: 8,
    num_experts_per_tok: 2,
    shared_intermediate_size: 1024,
    mamba_n_heads: 128,
    mamba_n_groups: 1,
    mamba_d_state: 256,
    mamba_d_conv: 4,
    mamba_expand: 2,
  },
  parameters: (config: HubConfig) => ({
    ...graniteScales(config),
    ...graniteSizes(config),
    ...mambaSizes(config, config.size('mamba_expand') * config.size('hidden_size')),
  }),
};

/** Falcon-H1: attention and Mamba 2 in every layer. Its factors are those of the published settings. */
export const falconH1 = {
  architecture: 'falcon-h1',
  layer: {
    ...attention,
    ffn_norm: 'pre_ff_layernorm',
    ffn_gate: 'feed_forward.gate_proj',
    ffn_up: 'feed_forward.up_proj',
    ffn_down: 'feed_forward.down_proj',
    ssm_in: 'mamba.in_proj',
    ssm_conv1d: 'mamba.conv1d',
    ssm_out: 'mamba.out_proj',
  },
  optional: { ssm_norm: 'mamba.norm' },
  kinds: {
    of: (config: HubConfig) => Array.from({ length: config.size('num_hidden_layers') }, () => 'hybrid'),
    modules: { hybrid: {} },
    parameters: { hybrid: mambaParameters },
  },
  outer: { token_embd: 'embed_tokens', output_norm: 'final_layernorm' },
  defaults: {
    rms_norm_eps: 1e-5,
    num_key_value_heads: 8,
    mamba_d_ssm: 1024,
    mamba_n_heads: 128,
    mamba_n_groups: 1,
    mamba_d_state: 256,
    mamba_d_conv: 4,
  },
  factors: falconFactors,
  parameters: (config: HubConfig) => {
    refuseFalcon(config);
    return {
      ...mambaSizes(config, config.size('mamba_d_ssm')),
      embedding_scale: config.number('embedding_multiplier', 1),
      logit_scale: config.number('lm_head_multiplier', 1),
    };
  },
};

/** Bamba: mostly Mamba 2, with a feed-forward in each layer. Half of each head rotates unless the file says otherwise. */
export const bamba = {
  architecture: 'granitehybrid',
  layer: {
    attn_norm: 'input_layernorm',
    ffn_norm: 'pre_ff_layernorm',
    ffn_gate: 'feed_forward.gate_proj',
    ffn_up: 'feed_forward.up_proj',
    ffn_down: 'feed_forward.down_proj',
  },
  kinds: { ...graniteHybrid.kinds, of: bambaKinds },
  outer: { token_embd: 'embed_tokens', output_norm: 'final_layernorm' },
  defaults: {
    rms_norm_eps: 1e-5,
    num_key_value_heads: 8,
    partial_rotary_factor: 0.5,
    mamba_n_heads: 128,
    mamba_n_groups: 1,
    mamba_d_state: 256,
    mamba_d_conv: 4,
    mamba_expand: 2,
  },
  parameters: (config: HubConfig) => {
    const heads = config.size('num_key_value_heads');
    return {
      'attention.head_count_kv': bambaKinds(config).map((kind) => (kind === 'mamba' ? 0 : heads)),
      ...mambaSizes(config, config.size('mamba_expand') * config.size('hidden_size')),
    };
  },
};

/** Mamba 2 alone: no layer attends. */
export const mamba2 = {
  architecture: 'mamba2',
  layer: { attn_norm: 'norm', ...mixerModules },
  kinds: {
    of: (config: HubConfig) => Array.from({ length: config.size('num_hidden_layers') }, () => 'mamba'),
    modules: { mamba: {} },
    parameters: { mamba: mixerParameters },
  },
  outer: { token_embd: 'embeddings', output_norm: 'norm_f' },
  otherNames: {
    mamba_n_heads: 'num_heads',
    mamba_n_groups: 'n_groups',
    mamba_d_state: 'state_size',
    mamba_d_conv: 'conv_kernel',
    mamba_d_head: 'head_dim',
    rms_norm_eps: 'layer_norm_epsilon',
  },
  // Files say nothing of heads that attend, of feed-forwards, or of how long a text may be.
  defaults: {
    num_attention_heads: 1,
    intermediate_size: 1,
    max_position_embeddings: 2 ** 20,
    rms_norm_eps: 1e-5,
    mamba_n_heads: 128,
    mamba_n_groups: 8,
    mamba_d_state: 128,
    mamba_d_conv: 4,
    mamba_d_head: 64,
  },
  parameters: (config: HubConfig) => ({
    'attention.key_length': undefined,
    'attention.value_length': undefined,
    'rope.dimension_count': undefined,
    ...mambaSizes(config, config.size('mamba_n_heads') * config.size('mamba_d_head')),
  }),
};

/** Nemotron-H and Nemotron 3: each layer is Mamba 2, attention, a feed-forward or experts. */
export const nemotronH = {
  architecture: 'nemotron_h',
  layer: { attn_norm: 'norm' },
  kinds: {
    of: nemotronKinds,
    modules: {
      mamba: mixerModules,
      attention: {
        attn_q: 'mixer.q_proj',
        attn_k: 'mixer.k_proj',
        attn_v: 'mixer.v_proj',
        attn_output: 'mixer.o_proj',
      },
      mlp: { ffn_up: 'mixer.up_proj', ffn_down: 'mixer.down_proj' },
      moe: {
        ffn_gate_inp: 'mixer.gate',
        ffn_up_shexp: 'mixer.shared_experts.up_proj',
        ffn_down_shexp: 'mixer.shared_experts.down_proj',
      },
    },
    parameters: { mamba: mixerParameters },
    withExperts: ['moe'],
  },
  optional: { ffn_latent_down: 'mixer.fc1_latent_proj', ffn_latent_up: 'mixer.fc2_latent_proj' },
  outer: { token_embd: 'embeddings', output_norm: 'norm_f' },
  experts: { list: 'mixer.experts', parts: { ffn_up_exps: 'up_proj', ffn_down_exps: 'down_proj' } },
  selectionBias: 'mixer.gate.e_score_correction_bias',
  unneeded: /^mtp\./,
  defaults: {
    num_key_value_heads: 8,
    head_dim: 128,
    layer_norm_epsilon: 1e-5,
    mlp_hidden_act: 'relu2',
    mamba_num_heads: 128,
    mamba_head_dim: 64,
    ssm_state_size: 128,
    n_groups: 8,
    conv_kernel: 4,
    time_step_min: 0.001,
    n_routed_experts: 8,
    num_experts_per_tok: 2,
    moe_intermediate_size: 7688,
    moe_shared_expert_intermediate_size: 7688,
  },
  otherNames: { n_groups: 'mamba_n_groups', conv_kernel: 'mamba_d_conv', time_step_min: 'mamba_dt_min' },
  parameters: nemotronSizes,
};

const nemotronLetters: Readonly<Record<string, string>> = { M: 'mamba', '*': 'attention', '-': 'mlp', E: 'moe' };

/** A letter per layer in published files, a list in later ones. */
function nemotronKinds(config: HubConfig): string[] {
  const { layers_block_type: listed } = config.values;
  const names: Readonly<Record<string, string>> = { full_attention: 'attention', linear_attention: 'mamba' };
  const kinds = Array.isArray(listed)
    ? listed.map((kind) => names[String(kind)] ?? String(kind))
    : [...config.text('hybrid_override_pattern')].map((letter) => nemotronLetters[letter] ?? letter);
  const layers = config.size('num_hidden_layers', kinds.length);
  if (kinds.length === layers) return kinds;
  throw invalidFile('config.json', `its hybrid_override_pattern lists ${kinds.length} layers, not ${layers}`);
}

function nemotronSizes(config: HubConfig): HubParameterValues {
  const activation = config.text('mlp_hidden_act');
  if (activation !== 'relu2')
    throw invalidFile('config.json', `its mlp_hidden_act is ${activation}; relu2 is computed`);
  const kinds = nemotronKinds(config);
  const heads = config.size('num_key_value_heads');
  return {
    'attention.layer_norm_rms_epsilon': config.number('layer_norm_epsilon'),
    'attention.head_count_kv': kinds.map((kind) => (kind === 'attention' ? heads : 0)),
    'attention.sliding_window': undefined,
    'ssm.conv_kernel': config.size('conv_kernel'),
    'ssm.state_size': config.size('ssm_state_size'),
    'ssm.group_count': config.size('n_groups'),
    'ssm.time_step_rank': config.size('mamba_num_heads'),
    'ssm.inner_size': config.size('mamba_num_heads') * config.size('mamba_head_dim'),
    'ssm.smallest_step': config.number('time_step_min'),
    ...(kinds.includes('moe')
      ? {
          expert_used_count: config.size('num_experts_per_tok'),
          expert_feed_forward_length: config.size('moe_intermediate_size'),
          expert_shared_feed_forward_length: config.size('moe_shared_expert_intermediate_size'),
          expert_weights_norm: config.flag('norm_topk_prob', true),
          expert_weights_scale: config.number('routed_scaling_factor', 1),
          expert_group_count: config.number('n_group', 1),
          expert_group_used_count: config.number('topk_group', 1),
        }
      : { expert_count: 0 }),
  };
}

/** Settings that no published model has. */
function refuseFalcon(config: HubConfig): void {
  for (const name of ['attention_bias', 'mlp_bias', 'projectors_bias', 'mamba_proj_bias']) {
    if (!config.flag(name, false)) continue;
    throw invalidFile('config.json', `its ${name} is true, and only layers without a bias are computed`);
  }
  if (config.flag('mamba_rms_norm', false) && config.flag('mamba_norm_before_gate', true)) {
    throw invalidFile('config.json', 'its mamba_norm_before_gate is true, and only a norm behind the gate is computed');
  }
}

function falconFactors(config: HubConfig): Record<string, RowFactors> {
  const [gate, down] = numbersOf(config, 'mlp_multipliers', 2);
  const [gated, inputs, keys, queries, steps] = numbersOf(config, 'ssm_multipliers', 5);
  const attention = config.number('attention_in_multiplier', 1);
  const mamba = config.number('ssm_in_multiplier', 1);
  const [width, heads] = [config.size('mamba_d_ssm'), config.size('mamba_n_heads')];
  const shared = config.size('mamba_n_groups') * config.size('mamba_d_state');
  return {
    attn_q: attention,
    attn_k: attention * config.number('key_multiplier', 1),
    attn_v: attention,
    attn_output: config.number('attention_out_multiplier', 1),
    ffn_gate: gate ?? 1,
    ffn_down: down ?? 1,
    ssm_in: [
      { rows: width, factor: mamba * (gated ?? 1) },
      { rows: width, factor: mamba * (inputs ?? 1) },
      { rows: shared, factor: mamba * (keys ?? 1) },
      { rows: shared, factor: mamba * (queries ?? 1) },
      { rows: heads, factor: mamba * (steps ?? 1) },
    ],
    ssm_out: config.number('ssm_out_multiplier', 1),
  };
}

/** Reads a list of so many numbers; empty without it. */
function numbersOf(config: HubConfig, name: string, count: number): number[] {
  if (!config.has(name)) return [];
  const numbers = config.numbers(name);
  if (numbers.length === count) return numbers;
  throw invalidFile('config.json', `its ${name} lists ${numbers.length} numbers, not ${count}`);
}

/** Files name the kinds in two ways, and a file without them has Mamba layers only. */
function graniteKinds(config: HubConfig): string[] {
  const layers = config.size('num_hidden_layers');
  const { layer_types: types } = config.values;
  if (!Array.isArray(types)) return Array.from({ length: layers }, () => 'mamba');
  if (types.length !== layers) {
    throw invalidFile('config.json', `its layer_types lists ${types.length} layers, not ${layers}`);
  }
  const names: Readonly<Record<string, string>> = { full_attention: 'attention', linear_attention: 'mamba' };
  return types.map((type) => names[String(type)] ?? String(type));
}

function bambaKinds(config: HubConfig): string[] {
  const attending = new Set(config.has('attn_layer_indices') ? config.numbers('attn_layer_indices') : []);
  const layers = config.size('num_hidden_layers');
  return Array.from({ length: layers }, (_, layer) => (attending.has(layer) ? 'attention' : 'mamba'));
}

function graniteSizes(config: HubConfig): HubParameterValues {
  const kinds = graniteKinds(config);
  const rotates = config.text('position_embedding_type', 'nope') === 'rope';
  const shared = config.size('shared_intermediate_size');
  const heads = config.size('num_key_value_heads', config.size('num_attention_heads'));
  return {
    'attention.head_count_kv': kinds.map((kind) => (kind === 'mamba' ? 0 : heads)),
    ...(!rotates && { 'rope.unrotated_layers': kinds.map(() => true) }),
    ...(config.number('num_local_experts') === 0
      ? { feed_forward_length: shared }
      : { expert_shared_feed_forward_length: shared, expert_used_count: config.size('num_experts_per_tok') }),
  };
}

/** Sizes of Mamba layers whose heads have `width` values together. */
function mambaSizes(config: HubConfig, width: number): HubParameterValues {
  refuseStepLimit(config);
  return {
    'ssm.conv_kernel': config.size('mamba_d_conv'),
    'ssm.state_size': config.size('mamba_d_state'),
    'ssm.group_count': config.size('mamba_n_groups'),
    'ssm.time_step_rank': config.size('mamba_n_heads'),
    'ssm.inner_size': width,
  };
}

/** From zero to infinity, as the library writes it: JSON has no such number. */
const noStepLimit = JSON.stringify([0, { __float__: 'Infinity' }]);

function refuseStepLimit(config: HubConfig): void {
  const { time_step_limit: limit } = config.values;
  if (limit === undefined || limit === null || JSON.stringify(limit) === noStepLimit) return;
  throw invalidFile(
    'config.json',
    `its time_step_limit is ${JSON.stringify(limit).slice(0, 60)}, and none is computed`,
  );
}
