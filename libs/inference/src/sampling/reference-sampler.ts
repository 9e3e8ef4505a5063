/* Plain reference implementation of sampling, to compare the fast one with: copies and sorts, and is slow. */

export interface ReferenceSettings {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
}

export interface ReferenceToken {
  id: number;
  probability: number;
}

/** Returns the candidates with their probabilities, best first; ties by lower id. */
export function referenceDistribution(logits: ArrayLike<number>, settings: ReferenceSettings): ReferenceToken[] {
  const sorted = Array.from(logits, (value, id) => ({ id, value })).sort((a, b) => b.value - a.value || a.id - b.id);
  const best = sorted[0]?.value ?? 0;
  const weigh = (value: number): number => Math.exp((value - best) / settings.temperature);
  let kept = sorted.map(({ id, value }) => ({ id, probability: weigh(value) }));
  if (settings.topK > 0) kept = normalized(kept.slice(0, settings.topK));
  kept = normalized(kept);
  if (settings.topP < 1) kept = normalized(nucleus(kept, settings.topP));
  if (settings.minP > 0) {
    const floor = settings.minP * (kept[0]?.probability ?? 0);
    kept = normalized(kept.filter(({ probability }, index) => index === 0 || probability >= floor));
  }
  return kept;
}

/** Returns the token whose share of [0, 1) contains `unit`, in the order of the distribution. */
export function referenceDraw(distribution: readonly ReferenceToken[], unit: number): number {
  let sum = 0;
  for (const { id, probability } of distribution) {
    sum += probability;
    if (sum > unit) return id;
  }
  return distribution.at(-1)?.id ?? -1;
}

function nucleus(tokens: readonly ReferenceToken[], share: number): ReferenceToken[] {
  let sum = 0;
  const size = tokens.findIndex(({ probability }) => (sum += probability) >= share);
  return size < 0 ? [...tokens] : tokens.slice(0, size + 1);
}

function normalized(tokens: readonly ReferenceToken[]): ReferenceToken[] {
  const sum = tokens.reduce((total, { probability }) => total + probability, 0);
  return tokens.map(({ id, probability }) => ({ id, probability: probability / sum }));
}
