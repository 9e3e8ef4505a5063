import { PlatformError } from '#common';
import type { SamplingOptions } from '../contract/text-generation.js';
import { argmax, bestFewSize, type Candidates, keepBest, newCandidates, takeBest } from './best-few.js';
import { dynamicTemperature } from './dynamic-temperature.js';
import { LogitBias } from './logit-bias.js';
import { type LogitsBatch, logitsOfTokens, rowLogits } from './logits-batch.js';
import { candidateMass, drawFromBest, type DrawSettings, undecided } from './narrow-draw.js';
import { Penalties } from './penalties.js';
import { Random } from './random.js';
import { noRest, type RestMass, restFromLogSumExp, totalMass } from './rest-mass.js';
import {
  allowedBy,
  type AllowedTokens,
  bestAllowed,
  candidatesOf,
  isAllowed,
  maskedLogits,
  newMaskHistory,
  takeAllowed,
  takeFew,
  type TokenConstraint,
} from './token-constraint.js';
import { drawFromAll } from './wide-draw.js';

/** Shared by all rows, because rows are sampled one after the other. */
const scratch = newCandidates();

const allowedScratch = newCandidates();

/** Smoothing factor of the estimate `fullChance`. */
const smoothing = 0.2;

const noIds: readonly number[] = [];

/** What the graph returns beside all logits. */
export interface GivenLogits {
  topSize: number;
  hasLogSumExp: boolean;
  /** Absent: it does not return the logits of tokens by their ids. */
  givesWanted?: boolean;
  vocabularySize?: number;
}

/**
 * Chooses the tokens of one sequence. The order of operations is that of vLLM and of transformers' logits processors
 * and warpers (generation/utils.py), which OpenAI-compatible clients expect:
 *
 * 0. tokens that a constraint does not allow leave the distribution, as if the vocabulary had none of them;
 * 1. biases of tokens, then the repetition penalty, then frequency and presence penalties (`penalties.ts`);
 * 2. temperature, fixed or dynamic; 0 is greedy, the lowest id of equal logits;
 * 3. top_k; 4. top_p, the smallest set of best tokens that reaches it, of what top_k left;
 * 5. min_p, relative to the best token; 6. one uniform draw over the rest, in the order of logits down and ids up.
 *
 * If the graph's top candidates decide, they are used. The result equals that from all logits, so it does not depend on
 * what other rows of a step needed.
 */
export class TokenSampler {
  private readonly settings: DrawSettings;
  private readonly temperatureRange: { minimum: number; maximum: number } | null;
  private readonly bias: LogitBias | null;
  private readonly penalties: Penalties | null;
  private readonly random: Random;
  /** Draw of a token that is still undecided. */
  private pendingUnit: number | null = null;
  private missRate = 0;
  /** Of masks that keep no history of their own. */
  private readonly ownHistory = newMaskHistory({ isAlmostAll: false });
  /** What may come next; undefined: not asked yet. */
  private allowed: AllowedTokens | null | undefined = undefined;

  constructor(
    sampling: SamplingOptions,
    promptIds: Int32Array,
    private readonly constraint: TokenConstraint | null = null,
  ) {
    this.settings = {
      temperature: sampling.temperature ?? 1,
      topK: sampling.topK ?? 0,
      topP: sampling.topP ?? 1,
      minP: sampling.minP ?? 0,
    };
    this.temperatureRange = temperatureRange(sampling);
    this.bias = LogitBias.from(sampling.logitBias);
    this.penalties = createPenalties(sampling, promptIds);
    this.random = new Random(sampling.seed);
  }

  /** Estimates the probability, 0 to 1, that the next token needs all logits, given what the graph returns. */
  fullChance(logits: GivenLogits): number {
    const allowed = this.knownAllowed();
    if (this.fewAmong(allowed, logits) !== null) return 0;
    if (logits.topSize === 0 || this.changesLogits || this.temperatureRange) return 1;
    if (allowed !== null) {
      const { greedy, drawn } = allowed.history ?? this.ownHistory;
      if (this.isGreedy) return greedy;
      return logits.hasLogSumExp ? drawn : 1;
    }
    if (this.isGreedy) return 0;
    const { topK } = this.settings;
    if (topK > 0) return topK <= logits.topSize ? 0 : 1;
    return logits.hasLogSumExp ? this.missRate : 1;
  }

  /** Whether the log-probabilities of the next token and of `alternatives` others need all logits. */
  scoresNeedAll(logits: GivenLogits, alternatives: number): boolean {
    const allowed = this.knownAllowed();
    if (allowed !== null) return this.fewAmong(allowed, logits) === null;
    return !logits.hasLogSumExp || alternatives > logits.topSize;
  }

  /** Returns the tokens whose logits decide the next one; none if it needs none or others. */
  wantedIds(logits: GivenLogits): readonly number[] {
    const few = this.fewAmong(this.knownAllowed(), logits);
    return few === null || few.length === 1 ? noIds : few;
  }

  /**
   * Returns the next token of row `index`, or `undecided` if only all logits can decide; then call again with them.
   * Throws `INFERENCE_FAILED` if the logits are not finite.
   */
  sample(batch: LogitsBatch, index: number): number {
    const row = batch.rowIndexes[index] ?? 0;
    const allowed = this.nextAllowed();
    const token = allowed === null ? this.sampleAny(batch, row) : this.sampleAllowed(batch, row, allowed);
    if (token !== undecided) return token;
    const logits = rowLogits(batch, row);
    return logits ? this.sampleFromAll(logits, allowed) : undecided;
  }

  /**
   * Returns the next token where the constraint allows only one, and uses up its draw of the seed; else null. Throws as
   * the constraint.
   */
  takeForced(): number | null {
    if (this.constraint === null) return null;
    const allowed = this.nextAllowed();
    const few = allowed === null ? null : candidatesOf(allowed);
    const [only] = few ?? noIds;
    if (few?.length !== 1 || only === undefined) return null;
    if (!this.isGreedy) this.pendingUnit ??= this.random.nextUnit();
    return this.settle(only);
  }

  /** Counts an accepted token for the penalties. */
  accept(tokenId: number): void {
    this.allowed = undefined;
    this.penalties?.accept(tokenId);
  }

  private nextAllowed(): AllowedTokens | null {
    if (this.allowed === undefined) this.allowed = allowedBy(this.constraint);
    return this.allowed;
  }

  /** Null if the constraint fails; `sample` reports that. */
  private knownAllowed(): AllowedTokens | null {
    try {
      return this.nextAllowed();
    } catch {
      return null;
    }
  }

  private fewAmong(allowed: AllowedTokens | null, logits: GivenLogits): readonly number[] | null {
    const { givesWanted = false, vocabularySize = Infinity } = logits;
    if (allowed === null || !givesWanted || this.temperatureRange) return null;
    const few = candidatesOf(allowed);
    return few?.every((id) => id < vocabularySize) === true ? few : null;
  }

  private sampleAny(batch: LogitsBatch, row: number): number {
    return this.changesLogits || this.temperatureRange ? undecided : this.sampleFromTop(batch, row);
  }

  private sampleAllowed(batch: LogitsBatch, row: number, allowed: AllowedTokens): number {
    if (this.temperatureRange) return undecided;
    const few = candidatesOf(allowed);
    if (few !== null) return this.sampleFew(batch, row, few);
    return this.changesLogits ? undecided : this.sampleAllowedFromTop(batch, row, allowed);
  }

  /** Draws among all tokens that may come next. */
  private sampleFew(batch: LogitsBatch, row: number, few: readonly number[]): number {
    const [only] = few;
    if (few.length === 1 && only !== undefined) return this.takeOnly(batch, row, only);
    const values = logitsOfTokens(batch, row, few);
    if (values === null) return undecided;
    this.bias?.applyTo(values, few);
    this.penalties?.applyTo(values, few);
    const { ids, values: sorted, count } = takeFew(few, values, allowedScratch);
    if (count === 0 || !Number.isFinite(sorted[0])) throw notFinite();
    if (this.isGreedy) return this.settle(ids[0] ?? undecided);
    const unit = (this.pendingUnit ??= this.random.nextUnit());
    const position = drawFromBest(allowedScratch, noRest, this.settings, unit);
    return this.settle(position === undecided ? undecided : (ids[position] ?? undecided));
  }

  /** Uses up the draw of this token like every other choice, so that a seed gives the same text. */
  private takeOnly({ topValues, topSize, vocabularySize }: LogitsBatch, row: number, only: number): number {
    if (only >= vocabularySize || (topValues !== null && !Number.isFinite(topValues[row * topSize]))) throw notFinite();
    if (!this.isGreedy) this.pendingUnit ??= this.random.nextUnit();
    return this.settle(only);
  }

  /** The graph's best candidates and its log-sum-exp are those of the unchanged logits. */
  private get changesLogits(): boolean {
    return this.bias !== null || this.penalties !== null;
  }

  private get isGreedy(): boolean {
    return this.settings.temperature <= 0;
  }

  private sampleFromTop(batch: LogitsBatch, row: number): number {
    const { topValues, topIds, topSize } = batch;
    if (!topValues || !topIds || topSize === 0) return undecided;
    const first = row * topSize;
    if (!Number.isFinite(topValues[first])) throw notFinite();
    if (this.isGreedy) return topIds[first] ?? undecided;
    const best = takeBest(topValues.subarray(first, first + topSize), topIds.subarray(first, first + topSize), scratch);
    const unit = (this.pendingUnit ??= this.random.nextUnit());
    const rest = this.restOutside(best, batch, row);
    if (!rest) return undecided;
    const position = drawFromBest(best, rest, this.settings, unit);
    this.missRate += smoothing * (this.estimateMiss(best, rest.high, position) - this.missRate);
    return this.settle(position === undecided ? undecided : (best.ids[position] ?? undecided));
  }

  /** The best few decide where the weight of all others, which may or may not be allowed, makes no difference. */
  private sampleAllowedFromTop(batch: LogitsBatch, row: number, allowed: AllowedTokens): number {
    const { topValues, topIds, topSize } = batch;
    if (!topValues || !topIds || topSize === 0) return undecided;
    const first = row * topSize;
    if (!Number.isFinite(topValues[first])) throw notFinite();
    const all = takeBest(topValues.subarray(first, first + topSize), topIds.subarray(first, first + topSize), scratch);
    const best = keepAllowed(all, allowed, allowedScratch);
    return this.settle(this.drawAllowed(batch, row, { all, best, allowed }));
  }

  private drawAllowed(batch: LogitsBatch, row: number, candidates: AllowedCandidates): number {
    const { best } = candidates;
    const { topK } = this.settings;
    if (best.count === 0) return this.learn(candidates, 1, undecided);
    if (this.isGreedy) return this.learn(candidates, 0, best.ids[0] ?? undecided);
    const unit = (this.pendingUnit ??= this.random.nextUnit());
    const isCutByCount = topK > 0 && topK <= best.count;
    const loose = isCutByCount ? noRest : this.restUnknown(batch, row, candidates);
    if (loose === null || !Number.isFinite(loose.high)) return this.learn(candidates, 1, undecided);
    const rest = isCutByCount ? noRest : this.restAllowed(batch, row, candidates, loose);
    const position = drawFromBest(best, rest, this.settings, unit);
    // What the bounds without all logits leave open, since the next step may come without them.
    const chance = this.estimateMiss(best, loose.high, position);
    return this.learn(candidates, chance, position === undecided ? undecided : (best.ids[position] ?? undecided));
  }

  private learn({ allowed }: AllowedCandidates, chance: number, token: number): number {
    const history = allowed.history ?? this.ownHistory;
    const kind = this.isGreedy ? 'greedy' : 'drawn';
    history[kind] += smoothing * (chance - history[kind]);
    return token;
  }

  /**
   * Bounds of the weight of all tokens that are no candidates, relative to the best allowed one. Null if unknown.
   */
  private restUnknown(batch: LogitsBatch, row: number, { all, best }: AllowedCandidates): RestMass | null {
    const logSumExp = batch.logSumExp?.[row];
    if (logSumExp === undefined) return null;
    const bestAllowed = best.values[0] ?? 0;
    return restFromLogSumExp({
      logSumExp,
      best: bestAllowed,
      last: all.values[all.count - 1] ?? 0,
      candidateMassAtOne: candidateMass(all, 1) * Math.exp((all.values[0] ?? 0) - bestAllowed),
      temperature: this.settings.temperature,
      others: batch.vocabularySize - all.count,
    });
  }

  /** The part of that weight that allowed tokens have. Without the logits of the excluded ones, that may be none. */
  private restAllowed(
    batch: LogitsBatch,
    row: number,
    { all, best, allowed }: AllowedCandidates,
    { low, high }: RestMass,
  ): RestMass {
    const logits = rowLogits(batch, row);
    if (logits === null || !allowed.excluded) return { low: 0, high };
    const bestAllowed = best.values[0] ?? 0;
    const last = all.values[all.count - 1] ?? 0;
    let mass = 0;
    let ties = 0;
    for (const id of allowed.excluded) {
      const value = logits[id] as number;
      // A candidate, which the rest does not contain; of equals of the last one, some are.
      if (value > last) continue;
      const weight = Math.exp((value - bestAllowed) / this.settings.temperature);
      if (value === last) ties += weight;
      else if (weight > 0) mass += weight;
    }
    return { low: Math.max(0, low - mass - ties), high: Math.max(0, high - mass) };
  }

  /** Returns null if the weight outside the candidates is unknown and matters. */
  private restOutside(best: Candidates, batch: LogitsBatch, row: number): { low: number; high: number } | null {
    const { topK, temperature } = this.settings;
    if (topK > 0 && topK <= best.count) return noRest;
    const logSumExp = batch.logSumExp?.[row];
    if (logSumExp === undefined) return null;
    if (!Number.isFinite(logSumExp)) throw notFinite();
    return restFromLogSumExp({
      logSumExp,
      best: best.values[0] ?? 0,
      last: best.values[best.count - 1] ?? 0,
      candidateMassAtOne: candidateMass(best, 1),
      temperature,
      others: batch.vocabularySize - best.count,
    });
  }

  /**
   * Returns the evidence of this row about the chance of a miss: the weight outside, or the miss itself if a border
   * decides.
   */
  private estimateMiss(best: Candidates, restHigh: number, position: number): number {
    if (this.settings.topP < 1 || this.settings.minP > 0) return position === undecided ? 1 : 0;
    return restHigh / (restHigh + candidateMass(best, this.settings.temperature));
  }

  private sampleFromAll(logits: Float32Array, allowed: AllowedTokens | null): number {
    this.bias?.apply(logits);
    try {
      return this.samplePenalized(logits, allowed);
    } finally {
      this.bias?.restore(logits);
    }
  }

  private samplePenalized(logits: Float32Array, allowed: AllowedTokens | null): number {
    const temperature = this.temperatureOf(logits, allowed);
    this.penalties?.apply(logits);
    try {
      if (allowed === null) return this.settle(this.drawAt(logits, temperature));
      return this.settle(this.drawAllowedAt(logits, allowed, temperature));
    } finally {
      this.penalties?.restore(logits);
    }
  }

  private temperatureOf(logits: Float32Array, allowed: AllowedTokens | null): number {
    if (!this.temperatureRange) return this.settings.temperature;
    const possible = allowed === null ? logits : maskedLogits(logits, allowed);
    return dynamicTemperature(possible, bestLogit(possible), this.temperatureRange);
  }

  /** As `drawAt` of the masked logits, which are only written where many tokens are allowed. */
  private drawAllowedAt(logits: Float32Array, allowed: AllowedTokens, temperature: number): number {
    if (temperature <= 0) {
      const id = bestAllowed(logits, allowed);
      if (id < 0 || !Number.isFinite(logits[id])) throw notFinite();
      return id;
    }
    if (!takeAllowed(logits, allowed, allowedScratch, bestFewSize)) {
      return this.drawAt(maskedLogits(logits, allowed), temperature);
    }
    if (allowedScratch.count === 0 || !Number.isFinite(allowedScratch.values[0])) throw notFinite();
    const unit = (this.pendingUnit ??= this.random.nextUnit());
    const position = drawFromBest(allowedScratch, noRest, { ...this.settings, temperature }, unit);
    if (position === undecided) return this.drawAt(maskedLogits(logits, allowed), temperature);
    return allowedScratch.ids[position] ?? 0;
  }

  private drawAt(logits: Float32Array, temperature: number): number {
    if (temperature <= 0) {
      const id = argmax(logits);
      if (id < 0 || !Number.isFinite(logits[id])) throw notFinite();
      return id;
    }
    const best = keepBest(logits, scratch);
    if (best.count === 0 || !Number.isFinite(best.values[0])) throw notFinite();
    const settings = { ...this.settings, temperature };
    const unit = (this.pendingUnit ??= this.random.nextUnit());
    const needsMass = settings.topK === 0 || settings.topK > best.count;
    const mass = needsMass ? totalMass(logits, best.values[0] ?? 0, temperature) : 0;
    // Fewer candidates than asked for are all that there are.
    const hasOthers = best.count === bestFewSize && best.count < logits.length;
    const outside = needsMass && hasOthers ? Math.max(0, mass - candidateMass(best, temperature)) : 0;
    const position = drawFromBest(best, { low: outside, high: outside }, settings, unit);
    if (position !== undecided) return best.ids[position] ?? 0;
    return drawFromAll(logits, best, mass, settings, unit);
  }

  private settle(tokenId: number): number {
    if (tokenId !== undecided) this.pendingUnit = null;
    return tokenId;
  }
}

/** The graph's candidates, those of them that are allowed, and all that are allowed. */
interface AllowedCandidates {
  all: Candidates;
  best: Candidates;
  allowed: AllowedTokens;
}

/** The allowed ones of the candidates, in their order. */
function keepAllowed(from: Candidates, allowed: AllowedTokens, into: Candidates): Candidates {
  into.count = 0;
  for (let index = 0; index < from.count; index++) {
    const id = from.ids[index] as number;
    if (!isAllowed(allowed, id)) continue;
    into.ids[into.count] = id;
    into.values[into.count++] = from.values[index] as number;
  }
  return into;
}

function bestLogit(logits: Float32Array): number {
  const id = argmax(logits);
  const best = logits[id];
  if (best === undefined || !Number.isFinite(best)) throw notFinite();
  return best;
}

/** Completes a single bound with the fixed temperature as the other; greedy stays greedy. */
function temperatureRange(sampling: SamplingOptions): { minimum: number; maximum: number } | null {
  const { temperature = 1, minTemperature, maxTemperature } = sampling;
  if (temperature <= 0 || (minTemperature === undefined && maxTemperature === undefined)) return null;
  const minimum = minTemperature ?? Math.min(temperature, maxTemperature ?? temperature);
  return { minimum, maximum: Math.max(minimum, maxTemperature ?? temperature) };
}

/** The API allows 0, which cannot be divided by; a value this small already lets previous tokens win. */
const minRepetitionPenalty = 1e-3;

function createPenalties(sampling: SamplingOptions, promptIds: Int32Array): Penalties | null {
  const strengths = {
    frequency: sampling.frequencyPenalty ?? 0,
    presence: sampling.presencePenalty ?? 0,
    repetition: Math.max(minRepetitionPenalty, sampling.repetitionPenalty ?? 1),
  };
  const isNeutral = strengths.frequency === 0 && strengths.presence === 0 && strengths.repetition === 1;
  return isNeutral ? null : new Penalties(strengths, promptIds);
}

function notFinite(): PlatformError {
  return new PlatformError('INFERENCE_FAILED', 'The model returned numbers that are not finite.');
}
