import { PlatformError } from '#common';
import { keepBest, newCandidates } from './best-few.js';
import { type LogitsBatch, logitsOfTokens, rowLogits } from './logits-batch.js';
import { totalMass } from './rest-mass.js';
import { type AllowedTokens, candidatesOf, maskedLogits } from './token-constraint.js';

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
 * The same of a token that was not sampled: its logit is the first that the row asked for, where the batch has not all.
 * Throws `INFERENCE_FAILED` where the model's numbers are not finite.
 */
export function scoreGivenToken(batch: LogitsBatch, index: number, tokenId: number, alternatives: number): TokenScore {
  const row = batch.rowIndexes[index] ?? 0;
  const { top } = scoreToken(batch, index, tokenId, alternatives);
  const logit = logitsOfTokens(batch, row, [tokenId])?.[0] ?? NaN;
  const logprob = logit - (batch.logSumExp?.[row] ?? logSumExp(rowLogits(batch, row)));
  if (!Number.isNaN(logprob)) return { logprob, top };
  throw new PlatformError('INFERENCE_FAILED', 'The model returned numbers that are not finite.');
}

/** What is scored of a constrained row. */
export interface AllowedScore {
  tokenId: number;
  alternatives: number;
  allowed: AllowedTokens;
}

/**
 * The same under the distribution over the allowed tokens alone. Where more than a few are allowed, it needs all logits;
 * a batch without them gives NaN.
 */
export function scoreAllowedToken(batch: LogitsBatch, index: number, score: AllowedScore): TokenScore {
  const { tokenId, alternatives, allowed } = score;
  const row = batch.rowIndexes[index] ?? 0;
  const few = candidatesOf(allowed);
  if (few !== null) return scoreAmongFew(batch, row, { tokenId, alternatives, few });
  const logits = rowLogits(batch, row);
  if (logits === null) return { logprob: NaN, top: [] };
  const masked = maskedLogits(logits, allowed);
  const normalizer = logSumExp(masked);
  return {
    logprob: (masked[tokenId] ?? -Infinity) - normalizer,
    top: bestScores(masked, { alternatives, normalizer }),
  };
}

function scoreAmongFew(
  batch: LogitsBatch,
  row: number,
  { tokenId, alternatives, few }: { tokenId: number; alternatives: number; few: ArrayLike<number> },
): TokenScore {
  // The only possible token needs no logits.
  const values = few.length === 1 ? Float32Array.of(0) : logitsOfTokens(batch, row, few);
  if (values === null) return { logprob: NaN, top: [] };
  const normalizer = few.length === 1 ? 0 : logSumExp(values);
  const position = Array.prototype.indexOf.call(few, tokenId);
  const top = bestScores(values, { alternatives, normalizer });
  return {
    logprob: (values[position] ?? -Infinity) - normalizer,
    top: top.map(({ id, logprob }) => ({ id: few[id] ?? 0, logprob })),
  };
}

/** The best of some logits, by their positions. */
function bestScores(
  logits: Float32Array,
  { alternatives, normalizer }: { alternatives: number; normalizer: number },
): TokenScore['top'] {
  const kept = keepBest(logits, scratch, Math.max(1, alternatives));
  return Array.from(kept.ids.subarray(0, Math.min(kept.count, alternatives)), (id, place) => ({
    id,
    logprob: (kept.values[place] ?? -Infinity) - normalizer,
  }));
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
