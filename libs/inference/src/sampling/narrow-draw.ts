import { bestCapacity, type Candidates } from './best-few.js';
import { noRest, type RestMass } from './rest-mass.js';

/** Settings that narrow the distribution before the draw. Neutral: topK 0, topP 1, minP 0. */
export interface DrawSettings {
  /** Above 0. */
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
}

/** The candidates do not decide the draw. */
export const undecided = -1;

const weights = new Float64Array(bestCapacity);
const cumulative = new Float64Array(bestCapacity);

/**
 * Draws one of the candidates. Returns `undecided` if a token outside them could be drawn or could change the border of
 * the nucleus. `rest` bounds the weight outside. A decision requires both bounds to agree, so it equals the one from
 * all logits. `unit` is the sequence's uniform draw for this token.
 */
export function drawFromBest(candidates: Candidates, rest: RestMass, settings: DrawSettings, unit: number): number {
  const { topK, topP, minP } = settings;
  const isCutByCount = topK > 0 && topK <= candidates.count;
  let count = isCutByCount ? topK : candidates.count;
  const outside = isCutByCount ? noRest : rest;
  if (topK > count && outside.high > 0) return undecided;
  const sum = accumulate(candidates, count, settings.temperature);
  let isOpen = outside.high > 0;
  if (topP < 1) {
    const border = nucleusSize(count, topP * (sum + outside.low));
    if (border > count || border !== nucleusSize(count, topP * (sum + outside.high))) return undecided;
    count = border;
    isOpen = false;
  }
  if (minP > 0) {
    const kept = countAtLeast(count, minP);
    if (kept === count && isOpen) return undecided;
    count = kept;
    isOpen = false;
  }
  if (!isOpen) return indexAt(count, unit * (cumulative[count - 1] ?? 0));
  const index = indexAt(count, unit * (sum + outside.low));
  return index < count && index === indexAt(count, unit * (sum + outside.high)) ? index : undecided;
}

/** Returns the sum of the first `count` candidate weights, in drawing order. */
export function candidateMass(candidates: Candidates, temperature: number): number {
  return accumulate(candidates, candidates.count, temperature);
}

function accumulate({ values }: Candidates, count: number, temperature: number): number {
  const best = values[0] ?? 0;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    const weight = Math.exp(((values[index] as number) - best) / temperature);
    sum += weight;
    weights[index] = weight;
    cumulative[index] = sum;
  }
  return sum;
}

/** Returns how many of the first candidates reach `limit` together; `count + 1` if all do not. */
function nucleusSize(count: number, limit: number): number {
  for (let index = 0; index < count; index++) if ((cumulative[index] as number) >= limit) return index + 1;
  return count + 1;
}

/** Returns how many candidates have at least `share` of the best one's weight, which is 1; at least one. */
function countAtLeast(count: number, share: number): number {
  for (let index = 1; index < count; index++) if ((weights[index] as number) < share) return index;
  return count;
}

/** Returns the first index whose cumulative weight exceeds `point`; `count` if none does. */
function indexAt(count: number, point: number): number {
  for (let index = 0; index < count; index++) if ((cumulative[index] as number) > point) return index;
  return count;
}
