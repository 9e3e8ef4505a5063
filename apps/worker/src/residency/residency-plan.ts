/*
 * Plans what a worker loads and unloads. A pure function of the models, the rules and the time.
 *
 * A model is loaded only into memory that is free now, never in anticipation of an unload. The least recently used
 * models are unloaded to make room, and only for a model that is requested or pinned. Models that run, are pinned or
 * became ready less than `residencyMs` ago stay, so two alternating models swap at most once in that time.
 */

/** Bytes, by device. */
export type DeviceBytes = Readonly<Record<string, number>>;

/** A model that the worker should load or still has loaded. Times are in ms of one clock. */
export interface ResidencyModel {
  id: string;
  /** Memory it needs: measured now, measured when last loaded, or estimated. */
  needs: DeviceBytes;
  pinned: boolean;
  /** When a client last requested it while it was not loaded; null: never, or not since it was loaded. */
  unservedAtMs: number | null;
  /** True after an eviction: it reloads without a request only when that leaves memory to spare. */
  wasEvicted: boolean;
  /** Null while it is not in memory. */
  loaded: {
    /** When it became ready; null while it loads. */
    readyAtMs: number | null;
    /** When it was last used, or when it became ready if never. */
    usedAtMs: number;
    inFlight: number;
    /** True while it is unloading; it uses its memory until then. */
    leaving: boolean;
  } | null;
}

export interface ResidencyRules {
  /** High-water mark that plans never exceed, in bytes. A device without an entry has no limit. */
  budgets: DeviceBytes;
  /** Share of a budget to which models are unloaded after they exceed it. */
  lowWater: number;
  /** How long a ready model stays at least. */
  residencyMs: number;
  /** How long a request for a model counts. */
  demandMs: number;
}

/** A model larger than a device. */
export interface RefusedModel {
  id: string;
  device: string;
  needBytes: number;
  budgetBytes: number;
}

export interface ResidencyPlan {
  load: string[];
  evict: string[];
  /** Larger than a device of this worker, even if it were empty. */
  refused: RefusedModel[];
  /** Would be loaded if there were room. */
  waiting: string[];
}

/** `models` are in order of preference, which decides when nothing else does. */
export function planResidency(models: readonly ResidencyModel[], rules: ResidencyRules, nowMs: number): ResidencyPlan {
  const plan: ResidencyPlan = { load: [], evict: [], refused: [], waiting: [] };
  const { budgets } = rules;
  const lowWater = scaled(budgets, rules.lowWater);
  const staying = models.filter(({ loaded }) => loaded !== null && !loaded.leaving);
  const evictable = staying
    .filter((model) => mayLeave(model, rules, nowMs))
    .sort((left, right) => usedAt(left) - usedAt(right));
  /** Memory used now, and after all unloading models are gone. */
  let present = total(models.filter(({ loaded }) => loaded !== null));
  let future = total(staying);

  const evict = (victims: readonly ResidencyModel[]) => {
    for (const victim of victims) {
      plan.evict.push(victim.id);
      evictable.splice(evictable.indexOf(victim), 1);
      future = sum(future, victim.needs, -1);
    }
  };

  // Loaded models may have grown.
  if (!fits(future, budgets)) evict(victimsFor(evictable, future, lowWater).victims);

  for (const model of byPrecedence(models, rules, nowMs)) {
    const [tooSmall] = Object.keys(budgets).filter((device) => (model.needs[device] ?? 0) > (budgets[device] ?? 0));
    if (tooSmall !== undefined) {
      const [needBytes, budgetBytes] = [model.needs[tooSmall] ?? 0, budgets[tooSmall] ?? 0];
      plan.refused.push({ id: model.id, device: tooSmall, needBytes, budgetBytes });
      continue;
    }
    const isEntitled = model.pinned || isInDemand(model, rules, nowMs);
    if (!fits(sum(future, model.needs), isEntitled || !model.wasEvicted ? budgets : lowWater)) {
      const older = evictable.filter((victim) => model.pinned || usedAt(victim) < (model.unservedAtMs ?? -Infinity));
      const { victims, left } = victimsFor(older, sum(future, model.needs), budgets);
      if (!isEntitled || !fits(left, budgets)) {
        plan.waiting.push(model.id);
        continue;
      }
      evict(victims);
    }
    if (fits(sum(present, model.needs), budgets)) {
      plan.load.push(model.id);
      present = sum(present, model.needs);
      future = sum(future, model.needs);
    } else {
      plan.waiting.push(model.id);
      // Memory that is being freed for it is not given to other models.
      if (isEntitled) future = sum(future, model.needs);
    }
  }
  return plan;
}

/** Models not in memory: pinned ones first, then requested ones by waiting time, then the rest. */
function byPrecedence(models: readonly ResidencyModel[], rules: ResidencyRules, nowMs: number): ResidencyModel[] {
  const absent = models.filter(({ loaded }) => loaded === null);
  const pinned = absent.filter(({ pinned }) => pinned);
  const others = absent.filter((model) => !model.pinned);
  const demanded = others
    .filter((model) => isInDemand(model, rules, nowMs))
    .sort((left, right) => (left.unservedAtMs ?? 0) - (right.unservedAtMs ?? 0));
  return [...pinned, ...demanded, ...others.filter((model) => !demanded.includes(model))];
}

function isInDemand({ unservedAtMs }: ResidencyModel, { demandMs }: ResidencyRules, nowMs: number): boolean {
  return unservedAtMs !== null && nowMs - unservedAtMs <= demandMs;
}

function mayLeave({ loaded, pinned }: ResidencyModel, { residencyMs }: ResidencyRules, nowMs: number): boolean {
  if (loaded === null || pinned || loaded.leaving || loaded.inFlight > 0) return false;
  return loaded.readyAtMs !== null && nowMs - loaded.readyAtMs >= residencyMs;
}

function usedAt({ loaded }: ResidencyModel): number {
  return loaded?.usedAtMs ?? -Infinity;
}

/**
 * Returns the fewest least recently used models that bring `used` under `limit`, or all that help if that is not
 * enough.
 */
function victimsFor(
  oldestFirst: readonly ResidencyModel[],
  used: DeviceBytes,
  limit: DeviceBytes,
): { victims: ResidencyModel[]; left: DeviceBytes } {
  const victims: ResidencyModel[] = [];
  let left = used;
  for (const candidate of usefulVictims(oldestFirst, used, limit)) {
    if (fits(left, limit)) break;
    victims.push(candidate);
    left = sum(left, candidate.needs, -1);
  }
  // A large model at the end may make earlier ones unnecessary; the most recently used of them is spared first.
  for (const candidate of [...victims].reverse()) {
    const without = sum(left, candidate.needs);
    if (!fits(without, limit)) continue;
    victims.splice(victims.indexOf(candidate), 1);
    left = without;
  }
  return { victims, left };
}

/** Models that use memory of a device that is over its limit. */
function usefulVictims(models: readonly ResidencyModel[], used: DeviceBytes, limit: DeviceBytes): ResidencyModel[] {
  const full = Object.keys(limit).filter((device) => (used[device] ?? 0) > (limit[device] ?? 0));
  return models.filter(({ needs }) => full.some((device) => (needs[device] ?? 0) > 0));
}

function fits(used: DeviceBytes, limit: DeviceBytes): boolean {
  return Object.entries(limit).every(([device, bytes]) => (used[device] ?? 0) <= bytes);
}

function total(models: readonly ResidencyModel[]): DeviceBytes {
  return models.reduce<DeviceBytes>((used, { needs }) => sum(used, needs), {});
}

function sum(left: DeviceBytes, right: DeviceBytes, sign: 1 | -1 = 1): DeviceBytes {
  const both: Record<string, number> = { ...left };
  for (const [device, bytes] of Object.entries(right)) both[device] = (both[device] ?? 0) + sign * bytes;
  return both;
}

function scaled(bytes: DeviceBytes, share: number): DeviceBytes {
  return Object.fromEntries(Object.entries(bytes).map(([device, amount]) => [device, amount * share]));
}
