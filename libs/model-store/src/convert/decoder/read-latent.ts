import { invalidFile } from '../invalid-file.js';
import type { LatentShape } from './decoder-shape.js';
import type { DecoderSource } from './decoder-source.js';

/**
 * Reads the sizes of attention to latents. Files that are made for it name the sizes of a head in keys that end with
 * `_mla`; in others, the usual keys have them.
 */
export function readLatent({ parameters, tensors, fileName }: DecoderSource): LatentShape {
  const rotated = parameters.size('rope.dimension_count');
  const headKey = (name: string) => (parameters.has(`${name}_mla`) ? `${name}_mla` : name);
  const keySize = parameters.size(headKey('attention.key_length'));
  if (keySize <= rotated || rotated % 2 !== 0) {
    throw invalidFile(fileName, `its heads have ${keySize} values, of which ${rotated} rotate`);
  }
  const hasQueryLatent = tensors.has('blk.0.attn_q_a.weight');
  return {
    rank: parameters.size('attention.kv_lora_rank'),
    queryRank: hasQueryLatent ? parameters.size('attention.q_lora_rank') : null,
    plainSize: keySize - rotated,
    valueSize: parameters.size(headKey('attention.value_length')),
    epsilon: parameters.number('attention.latent_norm_epsilon', parameters.number('attention.layer_norm_rms_epsilon')),
    joined: !tensors.has('blk.0.attn_k_b.weight'),
  };
}

/** Scores are divided by the root of a head's size. YaRN makes them steeper by a factor that its files give. */
export function latentScale({ parameters }: DecoderSource, { plainSize }: LatentShape): number {
  const size = plainSize + parameters.size('rope.dimension_count');
  const isStretched = parameters.text('rope.scaling.type', 'none') === 'yarn';
  const growth = isStretched ? parameters.number('rope.scaling.yarn_log_multiplier', 0) : 0;
  const factor = Math.max(1, parameters.number('rope.scaling.factor', 1));
  return (1 + growth * Math.log(factor)) ** 2 / Math.sqrt(size);
}
