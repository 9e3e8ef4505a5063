/** Penalty strengths; 0, 0 and 1 are neutral. */
export interface PenaltyStrengths {
  frequency: number;
  presence: number;
  repetition: number;
}

/**
 * Counts the tokens of one sequence and lowers the logits of those that occurred. The repetition penalty covers prompt
 * and output: it divides positive logits and multiplies negative ones (Keskar et al., CTRL, arXiv 1909.05858).
 * Frequency and presence follow, over the output only, as in the OpenAI API: `logit − count · frequency − (count > 0) ·
 * presence`.
 */
export class Penalties {
  private readonly outputCounts = new Map<number, number>();
  /** Yields every id that a penalty may change, once each. */
  private readonly seen = new Set<number>();
  private readonly originals: number[] = [];

  constructor(
    private readonly strengths: PenaltyStrengths,
    promptIds: Int32Array,
  ) {
    if (strengths.repetition !== 1) for (const id of promptIds) this.seen.add(id);
  }

  accept(tokenId: number): void {
    this.seen.add(tokenId);
    this.outputCounts.set(tokenId, (this.outputCounts.get(tokenId) ?? 0) + 1);
  }

  /** Changes `logits` in place; `restore` undoes it. */
  apply(logits: Float32Array): void {
    const { frequency, presence, repetition } = this.strengths;
    this.originals.length = 0;
    for (const id of this.seen) {
      const original = logits[id] ?? -Infinity;
      this.originals.push(original);
      const repeated = original > 0 ? original / repetition : original * repetition;
      const count = this.outputCounts.get(id) ?? 0;
      logits[id] = repeated - count * frequency - (count > 0 ? presence : 0);
    }
  }

  restore(logits: Float32Array): void {
    let index = 0;
    for (const id of this.seen) logits[id] = this.originals[index++] ?? -Infinity;
  }
}
