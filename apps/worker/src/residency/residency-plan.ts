/*
 * What a worker loads and unloads. Pure: everything follows from the models, the rules and the time it is given.
 *
 * A model is loaded only into room that is there now; nothing is loaded in the hope that an unload will be in time. Room is
 * made by unloading what was used least recently, and only for a model that somebody asks for or that is pinned. What runs,
 * what is pinned and what came less than `residencyMs` ago stays, so two models that take turns change at most once in that
 * time.
 */

/** Bytes, by device. */
export type DeviceBytes = Readonly<Record<string, number>>;

/** A model that the worker should hold, or still holds. Times in ms of one clock. */
export interface ResidencyModel {
  id: string;
  /** What it takes: measured while it is held, else what was measured when it last was, else an estimate. */
  needs: DeviceBytes;
  pinned: boolean;
  /** When a caller last asked for it in vain; null: never, or not since it was held. */
  missedAtMs: number | null;
  /** It had to make room before: it comes back by itself only where that leaves room to spare. */
  wasEvicted: boolean;
  /** Null while it is not in memory. */
  held: {
    /** When it became ready; null while it loads. */
    readyAtMs: number | null;
    /** Its last use; when it became ready, while there was none. */
    usedAtMs: number;
    inFlight: number;
    /** It is being unloaded, and takes its room until that is done. */
    leaving: boolean;
  } | null;
}

export interface ResidencyRules {
  /** The high water: never planned beyond. A device that is not named has no bound. */
  budgets: DeviceBytes;
  /** Share of a budget that is left in use when models have outgrown it. */
  lowWater: number;
  /** How long a model stays at least once it is ready. */
  residencyMs: number;
  /** How long the wish of a caller counts. */
  demandMs: number;
}

/** A model that is larger than a device. */
export interface RefusedModel {
  id: string;
  device: string;
  needBytes: number;
  budgetBytes: number;
}

export interface ResidencyPlan {
  load: string[];
  evict: string[];
  /** Larger than a device of this worker, whatever else is held. */
  refused: RefusedModel[];
  /** Would be loaded if there were room. */
  waiting: string[];
}

/** `models` in the order in which they are preferred where nothing else decides. */
export function planResidency(models: readonly ResidencyModel[], rules: ResidencyRules, nowMs: number): ResidencyPlan {
  const plan: ResidencyPlan = { load: [], evict: [], refused: [], waiting: [] };
  const { budgets } = rules;
  const lowWater = scaled(budgets, rules.lowWater);
  const staying = models.filter(({ held }) => held !== null && !held.leaving);
  const evictable = staying
    .filter((model) => mayLeave(model, rules, nowMs))
    .sort((left, right) => usedAt(left) - usedAt(right));
  /** In memory now, and once everything that leaves has left. */
  let present = total(models.filter(({ held }) => held !== null));
  let future = total(staying);

  const evict = (victims: readonly ResidencyModel[]) => {
    for (const victim of victims) {
      plan.evict.push(victim.id);
      evictable.splice(evictable.indexOf(victim), 1);
      future = sum(future, victim.needs, -1);
    }
  };

  // What is held may have grown since it was let in.
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
      const older = evictable.filter((victim) => model.pinned || usedAt(victim) < (model.missedAtMs ?? -Infinity));
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
      // The room that is being made for it is no other model's.
      if (isEntitled) future = sum(future, model.needs);
    }
  }
  return plan;
}

/** Those not in memory: pinned ones first, then what callers wait for, the longest wait first, then the rest. */
function byPrecedence(models: readonly ResidencyModel[], rules: ResidencyRules, nowMs: number): ResidencyModel[] {
  const absent = models.filter(({ held }) => held === null);
  const pinned = absent.filter(({ pinned }) => pinned);
  const others = absent.filter((model) => !model.pinned);
  const demanded = others
    .filter((model) => isInDemand(model, rules, nowMs))
    .sort((left, right) => (left.missedAtMs ?? 0) - (right.missedAtMs ?? 0));
  return [...pinned, ...demanded, ...others.filter((model) => !demanded.includes(model))];
}

function isInDemand({ missedAtMs }: ResidencyModel, { demandMs }: ResidencyRules, nowMs: number): boolean {
  return missedAtMs !== null && nowMs - missedAtMs <= demandMs;
}

function mayLeave({ held, pinned }: ResidencyModel, { residencyMs }: ResidencyRules, nowMs: number): boolean {
  if (held === null || pinned || held.leaving || held.inFlight > 0) return false;
  return held.readyAtMs !== null && nowMs - held.readyAtMs >= residencyMs;
}

function usedAt({ held }: ResidencyModel): number {
  return held?.usedAtMs ?? -Infinity;
}

/** The least recently used that bring `used` under `limit`, none more than it takes; all that help where that is not enough. */
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
  // A large one at the end may have made those before it superfluous; the most recently used of them is spared first.
  for (const candidate of [...victims].reverse()) {
    const without = sum(left, candidate.needs);
    if (!fits(without, limit)) continue;
    victims.splice(victims.indexOf(candidate), 1);
    left = without;
  }
  return { victims, left };
}

/** Those that take something of a device that is too full. */
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
