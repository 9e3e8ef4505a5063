import { keepBest, newCandidates } from './best-few.js';
import type { LogitsBatch } from './logits-batch.js';
import { totalMass } from './rest-mass.js';
import { type AllowedTokens, maskedLogits } from './token-constraint.js';

/** Log-probabilities of one sampled token: natural log, under the distribution before temperature and penalties. */
export interface TokenScore {
  logprob: number;
  /** Best first; as many as requested. */
  top: { id: number; logprob: number }[];
}

const scratch = newCandidates();

/** Returns the log-probability of a token and of the `alternatives` best ones, under the unmodified distribution. */
export function scoreToken(batch: LogitsBatch, index: number, tokenId: number, alternatives: number): TokenScore {
  const row = batch.rowIndexes[index] ?? 0;
  const logits = rowLogits(batch, row);
  const best = bestOf(batch, row, logits, alternatives);
  const normalizer = batch.logSumExp?.[row] ?? logSumExp(logits);
  const logit = logits?.[tokenId] ?? best.find(({ id }) => id === tokenId)?.value ?? -Infinity;
  const top = best.slice(0, alternatives).map(({ id, value }) => ({ id, logprob: value - normalizer }));
  return { logprob: logit - normalizer, top };
}

/**
 * The same under the distribution over the allowed tokens alone. Needs all logits; a batch without them gives NaN.
 */
export function scoreAllowedToken(
  batch: LogitsBatch,
  index: number,
  { tokenId, alternatives, allowed }: { tokenId: number; alternatives: number; allowed: AllowedTokens },
): TokenScore {
  const logits = rowLogits(batch, batch.rowIndexes[index] ?? 0);
  if (logits === null) return { logprob: NaN, top: [] };
  const masked = maskedLogits(logits, allowed);
  const normalizer = logSumExp(masked);
  const kept = keepBest(masked, scratch, Math.max(1, alternatives));
  const top = Array.from(kept.ids.subarray(0, Math.min(kept.count, alternatives)), (id, place) => ({
    id,
    logprob: (kept.values[place] ?? -Infinity) - normalizer,
  }));
  return { logprob: (masked[tokenId] ?? -Infinity) - normalizer, top };
}

/** Returns the row's view of all logits, not a copy; null if they were not fetched. */
export function rowLogits(batch: LogitsBatch, row: number): Float32Array | null {
  if (!batch.logits) return null;
  return batch.logits.subarray(row * batch.vocabularySize, (row + 1) * batch.vocabularySize);
}

function bestOf(
  batch: LogitsBatch,
  row: number,
  logits: Float32Array | null,
  alternatives: number,
): { id: number; value: number }[] {
  if (batch.topIds && batch.topValues && alternatives <= batch.topSize) {
    const { topValues, topSize } = batch;
    const ids = batch.topIds.subarray(row * topSize, (row + 1) * topSize);
    return Array.from(ids, (id, position) => ({ id, value: topValues[row * topSize + position] ?? -Infinity }));
  }
  if (!logits || alternatives === 0) return [];
  const kept = keepBest(logits, scratch, alternatives);
  return Array.from(kept.ids.subarray(0, kept.count), (id, position) => ({
    id,
    value: kept.values[position] ?? -Infinity,
  }));
}

function logSumExp(logits: Float32Array | null): number {
  if (!logits) return NaN;
  const best = keepBest(logits, scratch, 1).values[0] ?? 0;
  return best + Math.log(totalMass(logits, best, 1));
}
