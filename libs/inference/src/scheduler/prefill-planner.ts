import { commonPrefix, minimumReuse, type ReuseRule, sharedLength } from './prefix-store.js';
import type { RunningSequence } from './running-sequence.js';

/** Maximum number of chunks in a run shared by short prompts, as long as it takes no longer than `sharedRunMs`. */
const maxSharedChunks = 4;
const sharedRunMs = 25;

/** Smoothing factor of the measured cost per token. */
const smoothing = 0.3;

/**
 * Chooses whose prompt is computed next. Turns alternate between the oldest prompt and the one with least left, so
 * short prompts do not wait for long ones and long ones do not starve.
 */
export class PrefillPlanner {
  private servesShortest = false;
  /** Ms per token of a prefill run; null before the first measurement. */
  private tokenMs: number | null = null;

  constructor(
    private readonly chunkTokens: number,
    private readonly maxRows: number,
  ) {}

  /** Returns sequences for the next run: one with its next chunk, or several whose last parts fit into one chunk. */
  choose(ready: readonly RunningSequence[]): RunningSequence[] {
    const first = this.servesShortest ? shortest(ready) : ready[0];
    this.servesShortest = !this.servesShortest;
    if (!first) return [];
    if (first.remainingPrompt > this.chunkTokens) return [first];
    return this.fill(first, ready);
  }

  /** Records the duration of a run of `tokens` tokens, padding included. */
  observe(tokens: number, ms: number): void {
    const measured = ms / tokens;
    this.tokenMs = this.tokenMs === null ? measured : this.tokenMs + smoothing * (measured - this.tokenMs);
  }

  /** Returns how many padded tokens several prompts may share: one chunk, and more only for small, fast models. */
  private get sharedTokens(): number {
    if (this.tokenMs === null) return this.chunkTokens;
    const affordable = Math.floor(sharedRunMs / Math.max(this.tokenMs, 1e-6));
    return Math.min(maxSharedChunks * this.chunkTokens, Math.max(this.chunkTokens, affordable));
  }

  /** Counts rows times the longest, because rows of one run are padded to the longest. */
  private fill(first: RunningSequence, ready: readonly RunningSequence[]): RunningSequence[] {
    const chosen = [first];
    let longest = first.remainingPrompt;
    for (const sequence of ready) {
      if (sequence === first || chosen.length >= this.maxRows) continue;
      if (sequence.remainingPrompt > this.chunkTokens) continue;
      const widest = Math.max(longest, sequence.remainingPrompt);
      if (widest * (chosen.length + 1) > this.sharedTokens) continue;
      longest = widest;
      chosen.push(sequence);
    }
    return chosen;
  }
}

/**
 * Returns whether a prompt should wait for an older one that is computing their common prefix. The prefix must be
 * longer than the `held` tokens that can be copied now, by the same rule.
 */
export function waitsForOlder(
  sequence: RunningSequence,
  older: readonly RunningSequence[],
  { grain, isExact }: ReuseRule,
  held: number,
): boolean {
  if (sequence.request.scoresPrompt === true) return false;
  const prompt = sequence.promptKeys;
  return older.some((other) => {
    const limit = Math.min(prompt.length - 1, sharedLength(sequence.scope, other.scope));
    const common = commonPrefix(prompt, other.promptKeys, limit);
    const shared = common - (common % grain);
    // Tokens that the older prompt computes from the middle of a chunk on are unusable for an exact copy.
    if (isExact && other.exactLength < other.prefilled) return false;
    return shared >= minimumReuse && shared > Math.max(held, other.prefilled);
  });
}

function shortest(sequences: readonly RunningSequence[]): RunningSequence | undefined {
  let best = sequences[0];
  for (const sequence of sequences) if (best && sequence.remainingPrompt < best.remainingPrompt) best = sequence;
  return best;
}
