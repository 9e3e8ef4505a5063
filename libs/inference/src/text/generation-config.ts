import { join } from 'node:path';
import type { SamplingOptions } from '../contract/text-generation.js';
import { readJsonIfPresent, type TextTokenizer } from './text-tokenizer.js';

/** Recommended settings of a model's authors, from `generation_config.json` and `config.json`. */
export interface GenerationConfig {
  sampling: SamplingOptions;
  eosTokenIds: ReadonlySet<number>;
  /** Longest prompt plus output of the model; null if the files do not say. */
  maxPositions: number | null;
}

interface GenerationFile {
  do_sample?: boolean;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: number | null;
  min_p?: number | null;
  repetition_penalty?: number | null;
  eos_token_id?: number | number[] | null;
}

interface ModelFile {
  eos_token_id?: number | number[] | null;
  max_position_embeddings?: number;
}

export async function loadGenerationConfig(directory: string, tokenizer: TextTokenizer): Promise<GenerationConfig> {
  const [generation, model] = await Promise.all([
    readJsonIfPresent<GenerationFile>(join(directory, 'generation_config.json')),
    readJsonIfPresent<ModelFile>(join(directory, 'config.json')),
  ]);
  return generationConfigOf(generation ?? {}, model ?? {}, tokenizer.eosTokenId);
}

/** An explicit `do_sample: false` means greedy; absent members are neutral. */
export function generationConfigOf(
  generation: GenerationFile,
  model: ModelFile,
  tokenizerEosId: number | null,
): GenerationConfig {
  const eosTokenIds = new Set([...idsOf(generation.eos_token_id), ...idsOf(model.eos_token_id)]);
  if (tokenizerEosId !== null) eosTokenIds.add(tokenizerEosId);
  return {
    sampling: {
      temperature: generation.do_sample === false ? 0 : (generation.temperature ?? 1),
      topP: generation.top_p ?? 1,
      topK: generation.top_k ?? 0,
      minP: generation.min_p ?? 0,
      repetitionPenalty: generation.repetition_penalty ?? 1,
    },
    eosTokenIds,
    maxPositions: model.max_position_embeddings ?? null,
  };
}

/** Merges the request's settings over the model's defaults; absent or undefined members take the default. */
export function mergeSampling(defaults: SamplingOptions, requested: SamplingOptions): SamplingOptions {
  const overrides = Object.entries(requested).filter(([, value]) => value !== undefined && value !== null);
  return { ...defaults, ...Object.fromEntries(overrides) };
}

function idsOf(ids: number | number[] | null | undefined): number[] {
  if (ids === null || ids === undefined) return [];
  return Array.isArray(ids) ? ids : [ids];
}
