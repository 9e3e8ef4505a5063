import { bestCapacity, type Candidates } from './best-few.js';
import { noRest, type RestMass } from './rest-mass.js';

/** What narrows the distribution before the draw. Neutral: topK 0, topP 1, minP 0. */
export interface DrawSettings {
  /** Above 0. */
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
}

/** The candidates at hand do not decide the draw. */
export const undecided = -1;

const weights = new Float64Array(bestCapacity);
const cumulative = new Float64Array(bestCapacity);

/**
 * Draws one of the candidates, or answers `undecided` where a token outside them could be drawn or could move the
 * border of the nucleus. `rest` bounds the weight outside; a decision is taken only when both bounds agree, so it is
 * the one that all logits would give. `unit` is the sequence's uniform draw for this token.
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

/** Sum of the weights of the first `count` candidates, in the order in which they are drawn. */
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

/** How many of the first candidates reach `limit` together; `count + 1` when all do not. */
function nucleusSize(count: number, limit: number): number {
  for (let index = 0; index < count; index++) if ((cumulative[index] as number) >= limit) return index + 1;
  return count + 1;
}

/** How many have at least `share` of the best one's weight, which is 1. Never none. */
function countAtLeast(count: number, share: number): number {
  for (let index = 1; index < count; index++) if ((weights[index] as number) < share) return index;
  return count;
}

/** First index whose cumulative weight is above `point`; `count` when none is. */
function indexAt(count: number, point: number): number {
  for (let index = 0; index < count; index++) if ((cumulative[index] as number) > point) return index;
  return count;
}
