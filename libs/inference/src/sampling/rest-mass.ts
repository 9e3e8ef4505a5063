import { exponential, negligible } from './exponential.js';

/**
 * Bounds of the total weight of tokens that are not candidates, where the weight of a token is `exp((logit − best) /
 * temperature)`.
 */
export interface RestMass {
  low: number;
  high: number;
}

export const noRest: RestMass = { low: 0, high: 0 };

/** Relative error allowed for the graph's float32 log-sum-exp. */
const graphError = 1e-5;

/**
 * Returns bounds from the log-sum-exp at temperature 1. Let d be a token's distance to the best (≤ 0) and D that of the
 * last candidate. Then `exp(d/T) = exp(d) · exp(d(1/T − 1))`, and d ≤ D. For T ≤ 1 the second factor is at most its
 * value at D. For T > 1 it is at least that, and Jensen's inequality bounds the sum of n such terms from above.
 */
export function restFromLogSumExp(rest: {
  logSumExp: number;
  best: number;
  last: number;
  candidateMassAtOne: number;
  temperature: number;
  others: number;
}): RestMass {
  if (rest.others <= 0) return noRest;
  const total = Math.exp(rest.logSumExp - rest.best);
  const low = Math.max(0, total * (1 - graphError) - rest.candidateMassAtOne);
  const high = Math.max(0, total * (1 + graphError) - rest.candidateMassAtOne);
  if (rest.temperature === 1) return { low, high };
  const distance = rest.last - rest.best;
  const factor = Math.exp(distance * (1 / rest.temperature - 1));
  const share = rest.others * Math.exp(distance / rest.temperature);
  if (rest.temperature < 1) return { low: 0, high: Math.min(share, high * factor) };
  const jensen = rest.others * (high / rest.others) ** (1 / rest.temperature);
  return { low: low * factor, high: Math.min(share, jensen) };
}

/** Returns the sum of the weights of all logits. */
export function totalMass(logits: Float32Array, best: number, temperature: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) {
    const distance = ((logits[id] as number) - best) / temperature;
    if (distance > negligible) sum += exponential(distance);
  }
  return sum;
}
