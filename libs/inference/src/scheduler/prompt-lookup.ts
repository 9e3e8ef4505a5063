/** Number of last tokens that must occur earlier: shorter matches are mostly chance. */
const matchTokens = 12;

/** Length of the first draft, and of one behind a draft that was wrong early. */
const firstDraftTokens = 2;

/** Smoothing factor of the accepted share of drafts. */
const smoothing = 0.3;

/**
 * Accepted share below which a sequence has no more drafts. Of two rows, drafts take about as long as they save at 0.37;
 * of one, at 0.23 (bench/notes/text.md).
 */
const minAcceptedShare = 0.4;

export const noDraft = new Int32Array(0);

/**
 * Prompt lookup: where the last tokens of a sequence occur earlier in its prompt or output, the tokens that followed
 * there are a draft of the next ones. A sequence whose drafts are rarely right gets no more of them.
 */
export class PromptLookup {
  private draftTokens = firstDraftTokens;
  /** Smoothed share of drafted tokens that were right. */
  private acceptedShare = 2 * minAcceptedShare;

  /** Returns up to `limit` tokens that may follow the last one. */
  propose(tokens: Int32Array, limit: number): Int32Array {
    const count = Math.min(limit, this.draftTokens);
    if (count < 1 || this.acceptedShare < minAcceptedShare) return noDraft;
    const end = endOfMatch(tokens, tokens.length - 1 - count);
    return end === null ? noDraft : tokens.slice(end, end + count);
  }

  /** Records how many tokens of a draft were right. A draft that was right is followed by a longer one. */
  observe(drafted: number, accepted: number): void {
    this.acceptedShare += smoothing * (accepted / drafted - this.acceptedShare);
    this.draftTokens = accepted === drafted ? 2 * drafted : Math.max(firstDraftTokens, accepted);
  }
}

/** Returns the position behind the latest occurrence of the last tokens that ends at `from` or before; null: none. */
function endOfMatch(tokens: Int32Array, from: number): number | null {
  const last = tokens.length - 1;
  for (let end = from; end >= matchTokens - 1; end--) {
    end = tokens.lastIndexOf(tokens[last] as number, end);
    let equal = 1;
    while (equal < matchTokens && equal <= end && tokens[end - equal] === tokens[last - equal]) equal++;
    if (equal === matchTokens) return end + 1;
  }
  return null;
}
