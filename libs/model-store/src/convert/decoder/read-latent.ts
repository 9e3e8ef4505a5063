import { invalidFile } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import type { IndexerShape, LatentShape } from './decoder-shape.js';
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

/**
 * Reads the indexer of sparse attention. Undefined for a model without one, and for a context in which it chooses every
 * position.
 */
export function readIndexer(
  { parameters, tensors, fileName }: DecoderSource,
  { indexer: pairs }: Architecture,
  { layers, contextLength }: { layers: number; contextLength: number },
): IndexerShape | undefined {
  if (pairs === undefined) return undefined;
  const topK = parameters.size('attention.indexer.top_k');
  const [heads, size] = [
    parameters.size('attention.indexer.head_count'),
    parameters.size('attention.indexer.key_length'),
  ];
  const rotated = parameters.size('rope.dimension_count');
  if (size < rotated) {
    throw invalidFile(fileName, `its indexer has heads of ${size} values, of which ${rotated} rotate`);
  }
  if (!tensors.has('blk.0.attn_q_a.weight')) throw invalidFile(fileName, 'its indexer reads latents that it has not');
  // The first files of GLM 5.2 do not say which layers have none.
  const listed = parameters.optionalFlags('attention.indexer.types') ?? [];
  const reuses = Array.from(
    { length: layers },
    (_, layer) => !(listed[layer] ?? tensors.has(`blk.${layer}.indexer.attn_k.weight`)),
  );
  if (reuses[0]) throw invalidFile(fileName, 'its first layer has no indexer');
  if (topK >= contextLength) return undefined;
  return { heads, size, topK, interleaved: pairs === 'adjacent', reuses };
}

/** Scores are divided by the root of a head's size. YaRN makes them steeper by a factor that its files give. */
export function latentScale({ parameters }: DecoderSource, { plainSize }: LatentShape): number {
  const size = plainSize + parameters.size('rope.dimension_count');
  const isStretched = parameters.text('rope.scaling.type', 'none') === 'yarn';
  const growth = isStretched ? parameters.number('rope.scaling.yarn_log_multiplier', 0) : 0;
  const factor = Math.max(1, parameters.number('rope.scaling.factor', 1));
  return (1 + growth * Math.log(factor)) ** 2 / Math.sqrt(size);
}
