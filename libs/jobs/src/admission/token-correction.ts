import type { TokenCorrector } from '#rate-limit';
import type { ClosedListener } from '../lifecycle/job-states.js';

/**
 * Puts right what a rate limit reserved for a job, once it is known what it used; one that reports nothing used
 * nothing. Should the process die before, the reservation stands until its minute is over.
 */
export function correctReservedTokens(corrector: TokenCorrector): ClosedListener {
  return ({ accountId, apiKeyId, modelId, reservedTokens = null, usage }) => {
    if (reservedTokens === null) return;
    const used = usage === null ? 0 : usage.promptTokens + usage.completionTokens;
    void corrector.correct({ accountId, apiKeyId, modelId }, reservedTokens, used);
  };
}
