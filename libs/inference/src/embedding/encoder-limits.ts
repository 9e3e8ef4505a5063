import { join } from 'node:path';
import { PlatformError } from '#common';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { readJsonIfPresent } from '../text/index.js';
import type { BatchLimits } from './length-batcher.js';

/** Members of config.json that limit the length of a text. */
interface EncoderConfig {
  model_type?: string;
  max_position_embeddings?: number;
}

/** Model types whose position embeddings start after the padding id. */
const offsetPositions: Record<string, number> = { roberta: 2, 'xlm-roberta': 2, camembert: 2, mpnet: 2 };

/**
 * Tokens per run. On a CPU, more tokens gain nothing once the matrices are large, and they delay queued requests. One
 * thread is slower with more than `thread` tokens, whose activations fit its cache. A GPU needs many.
 */
const batchTokens = { thread: 256, cpu: 512, device: 16_384 };
const maxRows = { cpu: 64, device: 1_024 };

/** Why a model runs row by row. */
export const mixingNote = 'its quantised weights mix the texts of a batch, so texts run one by one, which is slower';

/** Returns the smaller of the manifest's limit and the model's positions. */
export async function longestText({ directory, contextLength }: HostLoadOptions): Promise<number> {
  const config = (await readJsonIfPresent<EncoderConfig>(join(directory, 'config.json'))) ?? {};
  const { max_position_embeddings: positions = contextLength, model_type: type = '' } = config;
  return Math.min(contextLength, positions - (offsetPositions[type] ?? 0));
}

/** Returns the batches of a provider. Throws `INVALID_MANIFEST` for an invalid `familyOptions.batchTokens`. */
export function batchLimits(
  { familyOptions, intraOpThreads }: HostLoadOptions,
  { provider, isMixing }: { provider: string; isMixing: boolean },
): BatchLimits {
  const kind = provider === 'cpu' ? 'cpu' : 'device';
  const defaultTokens =
    kind === 'cpu' ? Math.min(batchTokens.cpu, batchTokens.thread * intraOpThreads) : batchTokens.device;
  const { batchTokens: tokens = defaultTokens } = familyOptions;
  if (typeof tokens !== 'number' || !Number.isInteger(tokens) || tokens < 1) {
    throw new PlatformError('INVALID_MANIFEST', 'familyOptions.batchTokens must be a whole number.');
  }
  return isMixing ? { tokens: 1, rows: 1 } : { tokens, rows: maxRows[kind] };
}
