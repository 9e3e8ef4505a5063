import type { HubConfig } from './hub-config.js';
import { type ModelFiles, readJsonObject } from './model-files.js';

const generationFile = 'generation_config.json';

export interface EndTokens {
  /** `generation_config.json`; empty without one. */
  generation: Record<string, unknown>;
  bosTokenId: number | null;
  /** Of all files. */
  eosTokenIds: number[];
}

/** `configs` are `config.json` and the part of it that describes the decoder. */
export async function readEndTokens(files: ModelFiles, configs: readonly HubConfig[]): Promise<EndTokens> {
  const generation = files.names.has(generationFile) ? await readJsonObject(files, generationFile) : {};
  const all = [generation, ...configs.map(({ values }) => values)];
  const [bosTokenId = null] = all.flatMap((values) => idsOf(values['bos_token_id']));
  const ends = all.flatMap((values) => idsOf(values['eos_token_id']));
  return { generation, bosTokenId, eosTokenIds: [...new Set(ends)] };
}

function idsOf(value: unknown): number[] {
  return [value].flat().filter((id): id is number => Number.isSafeInteger(id));
}
