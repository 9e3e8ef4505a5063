/**
 * Adds a bias to the logits of some tokens, as the OpenAI API defines it: −100 all but excludes a token, and 100 all but
 * selects it. What a constraint does not allow stays impossible, and what it demands stays possible.
 */
export class LogitBias {
  private readonly originals: Float32Array;

  private constructor(private readonly biases: ReadonlyMap<number, number>) {
    this.originals = new Float32Array(biases.size);
  }

  /** Null where nothing changes. Keys are token ids. */
  static from(biases: Readonly<Record<string, number>> = {}): LogitBias | null {
    const known = new Map(Object.entries(biases).map(([id, bias]) => [Number(id), bias]));
    return [...known.values()].every((bias) => bias === 0) ? null : new LogitBias(known);
  }

  /** Changes `logits` in place; `restore` undoes it. */
  apply(logits: Float32Array): void {
    let index = 0;
    for (const [id, bias] of this.biases) {
      const original = logits[id] ?? -Infinity;
      this.originals[index++] = original;
      // Graphs may know fewer tokens than the tokenizer: a write beyond the end has no effect.
      logits[id] = original + bias;
    }
  }

  restore(logits: Float32Array): void {
    let index = 0;
    for (const id of this.biases.keys()) logits[id] = this.originals[index++] ?? -Infinity;
  }

  /** Changes `logits` of the tokens `ids` in place. */
  applyTo(logits: Float32Array, ids: readonly number[]): void {
    ids.forEach((id, index) => {
      const bias = this.biases.get(id);
      if (bias !== undefined) logits[index] = (logits[index] ?? -Infinity) + bias;
    });
  }
}
