import type { Candidates } from './best-few.js';
import { exponential, negligible } from './exponential.js';
import type { DrawSettings } from './narrow-draw.js';

/** Last token of a set of best tokens, in the order of logits down and ids up. */
interface Cutoff {
  value: number;
  id: number;
}

const everything: Cutoff = { value: -Infinity, id: Infinity };
const binCount = 2048;
const counts = new Int32Array(binCount);
const masses = new Float64Array(binCount);

/**
 * Draws when the top candidates do not decide: flat distributions, a large `topK`, a draw from the tail. Works with a
 * histogram of the logits. Only the bin that contains a border is sorted, never the vocabulary.
 */
export function drawFromAll(
  logits: Float32Array,
  candidates: Candidates,
  mass: number,
  settings: DrawSettings,
  unit: number,
): number {
  const { temperature, topK, topP, minP } = settings;
  const best = candidates.values[0] ?? 0;
  let cutoff = everything;
  if (topK > 0) cutoff = findCutoff(logits, { best, temperature, within: cutoff, isByCount: true, goal: topK });
  if (topP < 1) {
    const within = cutoff === everything ? mass : massOf(logits, best, temperature, cutoff);
    cutoff = findCutoff(logits, { best, temperature, within: cutoff, isByCount: false, goal: topP * within });
  }
  if (minP > 0) cutoff = stricter(cutoff, { value: best + temperature * Math.log(minP), id: Infinity });
  if (cutoff === everything) return drawBestFirst(logits, candidates, temperature, unit * mass);
  const total = massOf(logits, best, temperature, cutoff);
  return walk(logits, { best, temperature, point: unit * total, takes: (value, id) => isWithin(cutoff, value, id) });
}

/** Uses the drawing order of `drawFromBest`: candidates first, then the others by id. */
function drawBestFirst(logits: Float32Array, candidates: Candidates, temperature: number, point: number): number {
  const { ids, values, count } = candidates;
  const best = values[0] ?? 0;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    sum += Math.exp(((values[index] as number) - best) / temperature);
    if (sum > point) return ids[index] as number;
  }
  const last: Cutoff = { value: values[count - 1] ?? best, id: ids[count - 1] ?? 0 };
  return walk(logits, { best, temperature, point: point - sum, takes: (value, id) => !isWithin(last, value, id) });
}

interface Walk {
  best: number;
  temperature: number;
  point: number;
  takes: (value: number, id: number) => boolean;
}

/** Walks by id until the accepted weights exceed `point`; rounding may end it at the last accepted token. */
function walk(logits: Float32Array, { best, temperature, point, takes }: Walk): number {
  let sum = 0;
  let last = 0;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    const distance = (value - best) / temperature;
    if (!(distance > negligible) || !takes(value, id)) continue;
    sum += exponential(distance);
    last = id;
    if (sum > point) return id;
  }
  return last;
}

function massOf(logits: Float32Array, best: number, temperature: number, cutoff: Cutoff): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    const distance = (value - best) / temperature;
    if (distance > negligible && isWithin(cutoff, value, id)) sum += exponential(distance);
  }
  return sum;
}

interface CutoffSearch {
  best: number;
  temperature: number;
  within: Cutoff;
  isByCount: boolean;
  /** Number of tokens, or total weight, that the set must reach. */
  goal: number;
}

/** Returns the smallest set of best tokens that reaches the goal; `within` itself if all its tokens do not. */
function findCutoff(logits: Float32Array, search: CutoffSearch): Cutoff {
  fillHistogram(logits, search);
  let reached = 0;
  for (let bin = 0; bin < binCount; bin++) {
    const amount = (search.isByCount ? counts[bin] : masses[bin]) ?? 0;
    if (reached + amount >= search.goal) return cutoffInBin(logits, search, bin, reached) ?? search.within;
    reached += amount;
  }
  return search.within;
}

function fillHistogram(logits: Float32Array, search: CutoffSearch): void {
  counts.fill(0);
  masses.fill(0);
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    const bin = binOf(value, search);
    if (bin >= binCount || !isWithin(search.within, value, id)) continue;
    counts[bin] = (counts[bin] as number) + 1;
    masses[bin] = (masses[bin] as number) + exponential((value - search.best) / search.temperature);
  }
}

function cutoffInBin(logits: Float32Array, search: CutoffSearch, bin: number, reachedBefore: number): Cutoff | null {
  const members: Cutoff[] = [];
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    if (binOf(value, search) === bin && isWithin(search.within, value, id)) members.push({ value, id });
  }
  members.sort((left, right) => right.value - left.value || left.id - right.id);
  let reached = reachedBefore;
  for (const member of members) {
    reached += search.isByCount ? 1 : exponential((member.value - search.best) / search.temperature);
    if (reached >= search.goal) return member;
  }
  return members.at(-1) ?? null;
}

/** Bins split the distances that have any weight evenly; distances without weight are beyond the last. */
function binOf(value: number, { best, temperature }: CutoffSearch): number {
  const bin = Math.floor(((best - value) / temperature / -negligible) * binCount);
  return Number.isNaN(bin) ? binCount : bin;
}

function isWithin(cutoff: Cutoff, value: number, id: number): boolean {
  return value > cutoff.value || (value === cutoff.value && id <= cutoff.id);
}

function stricter(left: Cutoff, right: Cutoff): Cutoff {
  return isWithin(left, right.value, right.id) ? right : left;
}
