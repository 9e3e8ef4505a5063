import { commonPrefix, minimumReuse, type ReuseRule } from './prefix-store.js';
import type { RunningSequence } from './running-sequence.js';

/** Short prompts may share a run of up to this many chunks, as long as it takes no longer than `sharedRunMs`. */
const maxSharedChunks = 4;
const sharedRunMs = 25;

/** How fast the measured cost of a token follows the last run. */
const smoothing = 0.3;

/**
 * Chooses whose prompt is computed next. Turns alternate between the oldest prompt and the one with least left, so
 * that a short prompt need not wait for a long one and a long one is never put off for good.
 */
export class PrefillPlanner {
  private isShortestTurn = false;
  /** Ms per token of a prefill run; null until one was measured. */
  private tokenMs: number | null = null;

  constructor(
    private readonly chunkTokens: number,
    private readonly maxRows: number,
  ) {}

  /** Sequences for the next run: one with its next chunk, or several whose last parts fit into one together. */
  choose(ready: readonly RunningSequence[]): RunningSequence[] {
    const first = this.isShortestTurn ? shortest(ready) : ready[0];
    this.isShortestTurn = !this.isShortestTurn;
    if (!first) return [];
    if (first.remainingPrompt > this.chunkTokens) return [first];
    return this.fill(first, ready);
  }

  /** Learns what a run of `tokens` tokens, padding included, took. */
  observe(tokens: number, ms: number): void {
    const measured = ms / tokens;
    this.tokenMs = this.tokenMs === null ? measured : this.tokenMs + smoothing * (measured - this.tokenMs);
  }

  /** Padded tokens that several prompts may share: one chunk, and more only where the model is small and fast. */
  private get sharedTokens(): number {
    if (this.tokenMs === null) return this.chunkTokens;
    const affordable = Math.floor(sharedRunMs / Math.max(this.tokenMs, 1e-6));
    return Math.min(maxSharedChunks * this.chunkTokens, Math.max(this.chunkTokens, affordable));
  }

  /** Rows of one run are padded to the longest, so what counts is rows times the longest. */
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
 * Whether a prompt should wait because an older one is just computing the beginning they share, more of it than the
 * `held` tokens that could be copied now, by the same rule.
 */
export function waitsForOlder(
  sequence: RunningSequence,
  older: readonly RunningSequence[],
  { grain, isExact }: ReuseRule,
  held: number,
): boolean {
  const prompt = sequence.request.promptIds;
  return older.some((other) => {
    const common = commonPrefix(prompt, other.request.promptIds, prompt.length - 1);
    const shared = common - (common % grain);
    // What the older one computes from the middle of a chunk on is of no use to one that must be exact.
    if (isExact && other.exactLength < other.prefilled) return false;
    return shared >= minimumReuse && shared > Math.max(held, other.prefilled);
  });
}

function shortest(sequences: readonly RunningSequence[]): RunningSequence | undefined {
  let best = sequences[0];
  for (const sequence of sequences) if (best && sequence.remainingPrompt < best.remainingPrompt) best = sequence;
  return best;
}
