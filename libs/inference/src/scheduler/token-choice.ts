import type { LogitsBatch } from '../sampling/logits-batch.js';
import { allowedBy } from '../sampling/token-constraint.js';
import { scoreAllowedToken, scoreToken, type TokenScore } from '../sampling/token-score.js';
import type { Decoder, LogitsNeeded } from './decoder.js';
import type { RunningSequence } from './running-sequence.js';
import type { SequenceRequest } from './sequence.js';

/** A token, `undecided` if all logits are needed, or the reason why the row has none. */
export type Choice = number | Error;

/** Probability above which a step fetches all logits: that costs a twentieth of a step, and a repeated run a whole one. */
const fullFetchChance = 0.05;

/** Returns the logits that a step over rows needs; `drafts` are those of all rows, or empty. */
export function logitsNeeded(
  decoder: Decoder,
  rows: readonly RunningSequence[],
  drafts: readonly Int32Array[],
): LogitsNeeded {
  if (rows.length === 0) return 'none';
  let chance = 0;
  for (const [index, sequence] of rows.entries()) {
    if (sequence.scoresNeedAll(decoder)) return 'full';
    // Which tokens are allowed behind a draft is not known before they are drawn.
    if (drafts.length > 0 && sequence.request.constraint) return 'full';
    chance += sequence.fullChance(decoder) * (1 + (drafts[index]?.length ?? 0));
  }
  return chance > fullFetchChance ? 'full' : 'top';
}

/** Returns the next token of a sequence, by the logits of a row of the batch. */
export function choose(sequence: RunningSequence, batch: LogitsBatch, index: number): Choice {
  try {
    return sequence.nextPromptToken ?? sequence.sampler.sample(batch, index);
  } catch (error) {
    return error instanceof Error ? error : new Error('Sampling failed.', { cause: error });
  }
}

export function scoreOf(
  { topLogprobs, constraint }: SequenceRequest,
  batch: LogitsBatch,
  index: number,
  tokenId: number,
): TokenScore | null {
  if (topLogprobs === null) return null;
  const allowed = allowedBy(constraint);
  if (allowed === null) return scoreToken(batch, index, tokenId, topLogprobs);
  return scoreAllowedToken(batch, index, { tokenId, alternatives: topLogprobs, allowed });
}

/** Returns a batch whose only row are the logits behind the first `tokens` of the row's draft. */
export function behindDraft(batch: LogitsBatch, index: number, tokens: number): LogitsBatch {
  return { ...batch, rowIndexes: Int32Array.of((batch.rowIndexes[index] ?? 0) + tokens), wanted: null };
}
