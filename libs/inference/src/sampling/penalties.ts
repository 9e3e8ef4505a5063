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
    this.originals.length = 0;
    for (const id of this.seen) {
      const original = logits[id] ?? -Infinity;
      this.originals.push(original);
      logits[id] = this.lowered(id, original);
    }
  }

  /** Changes `logits` of the tokens `ids` in place. */
  applyTo(logits: Float32Array, ids: readonly number[]): void {
    ids.forEach((id, index) => {
      if (this.seen.has(id)) logits[index] = this.lowered(id, logits[index] ?? -Infinity);
    });
  }

  private lowered(id: number, original: number): number {
    const { frequency, presence, repetition } = this.strengths;
    const repeated = original > 0 ? original / repetition : original * repetition;
    const count = this.outputCounts.get(id) ?? 0;
    return repeated - count * frequency - (count > 0 ? presence : 0);
  }

  restore(logits: Float32Array): void {
    let index = 0;
    for (const id of this.seen) logits[id] = this.originals[index++] ?? -Infinity;
  }
}
