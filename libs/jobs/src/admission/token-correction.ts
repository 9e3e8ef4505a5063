import type { TokenCorrector } from '#rate-limit';
import type { ClosedListener } from '../lifecycle/job-states.js';

/**
 * Corrects what a rate limit reserved for a job once its usage is known; a job without a report used nothing. If the
 * process dies before, the reservation lasts until its minute is over.
 */
export function correctReservedTokens(corrector: TokenCorrector): ClosedListener {
  return ({ accountId, apiKeyId, modelId, reservedTokens = null, usage }) => {
    if (reservedTokens === null) return;
    const used = usage === null ? 0 : usage.promptTokens + usage.completionTokens;
    void corrector.correct({ accountId, apiKeyId, modelId }, reservedTokens, used);
  };
}
