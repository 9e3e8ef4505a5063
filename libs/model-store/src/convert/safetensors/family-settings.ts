import { invalidFile } from '../invalid-file.js';
import type { HubConfig, ParameterValue } from './hub-config.js';

/* Settings of families of models by GGUF's keys, where they take more than a line. */

export type HubParameterValues = Record<string, ParameterValue | undefined>;

/** Factors of Granite. */
export function graniteScales(config: HubConfig): HubParameterValues {
  return {
    embedding_scale: config.number('embedding_multiplier', 1),
    residual_scale: config.number('residual_multiplier', 1),
    'attention.scale': config.number('attention_multiplier', 1),
    logit_scale: config.number('logits_scaling', 1),
  };
}

/** Published models of ERNIE 4.5 have experts in every layer behind the dense ones. */
export function ernieExperts(config: HubConfig): HubParameterValues {
  const layers = config.size('num_hidden_layers');
  const last = config.number('moe_layer_end_index', -1);
  if (last !== -1 && last < layers - 1) {
    throw invalidFile(
      'config.json',
      `its moe_layer_end_index is ${last}: layers behind those with experts are not converted`,
    );
  }
  const size = config.size('moe_intermediate_size');
  return {
    leading_dense_block_count: config.number('moe_layer_start_index'),
    interleave_moe_layer_step: config.number('moe_layer_interval'),
    expert_used_count: config.size('moe_k'),
    expert_feed_forward_length: size,
    expert_shared_feed_forward_length: size * config.size('moe_num_shared_experts'),
  };
}

/** Published models list the same number of experts and the same size for every layer. */
export function hunyuanExperts(config: HubConfig): HubParameterValues {
  const size = config.size('intermediate_size');
  const expertSize = ofEveryLayer(config, 'moe_intermediate_size', size);
  const shared = ofEveryLayer(config, 'num_shared_expert', 1);
  // The classes compute with one size, and one shared expert, whatever the file says.
  if (expertSize !== size) throw refusedSetting('moe_intermediate_size', expertSize);
  if (shared !== 1) throw refusedSetting('num_shared_expert', shared);
  if (config.flag('use_cla', false)) throw refusedSetting('use_cla', true);
  return {
    expert_used_count: ofEveryLayer(config, 'moe_topk', 1),
    expert_feed_forward_length: size,
    expert_shared_feed_forward_length: size,
  };
}

/** A number, or a list with the same number for every layer. */
function ofEveryLayer(config: HubConfig, name: string, missing: number): number {
  if (!Array.isArray(config.values[name])) return config.number(name, missing);
  const [first = missing, ...others] = new Set(config.numbers(name));
  if (others.length > 0) throw refusedSetting(name, `${first} and ${others.join(', ').slice(0, 40)}`);
  return first;
}

function refusedSetting(name: string, value: unknown): Error {
  return invalidFile('config.json', `its ${name} is ${String(value)}, which is not computed here`);
}
