import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planResidency, type ResidencyModel, type ResidencyRules } from './residency-plan.js';

const rules: ResidencyRules = { budgets: { cpu: 100 }, lowWater: 0.9, residencyMs: 60_000, demandMs: 60_000 };
const nowMs = 1_000_000;

interface Options extends Partial<Omit<ResidencyModel, 'loaded' | 'needs'>> {
  id: string;
  needs?: number;
  loaded?: Partial<NonNullable<ResidencyModel['loaded']>>;
}

function model({ needs = 40, loaded, ...rest }: Options): ResidencyModel {
  const whole = { readyAtMs: 0, usedAtMs: 0, inFlight: 0, leaving: false };
  const defaults = { pinned: false, unservedAtMs: null, wasEvicted: false };
  return { ...defaults, ...rest, needs: { cpu: needs }, loaded: loaded === undefined ? null : { ...whole, ...loaded } };
}

const plan = (requestedModels: Options[]) => planResidency(requestedModels.map(model), rules, nowMs);
const empty = { load: [], evict: [], refused: [], waiting: [] };

describe('planResidency', () => {
  it('loads what fits, in order, and leaves the rest waiting', () => {
    const requestedModels = [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd', needs: 20 }];
    expect(plan(requestedModels)).toEqual({ ...empty, load: ['a', 'b', 'd'], waiting: ['c'] });
  });

  it('refuses a model larger than the device and continues with the others', () => {
    const requestedModels = [{ id: 'huge', needs: 101, pinned: true, unservedAtMs: nowMs }, { id: 'b' }];
    expect(plan(requestedModels)).toEqual({
      ...empty,
      load: ['b'],
      refused: [{ id: 'huge', device: 'cpu', needBytes: 101, budgetBytes: 100 }],
    });
  });

  it('evicts the least recently used model for a requested one before it loads', () => {
    const old = { id: 'old', loaded: { usedAtMs: 10 } };
    const recent = { id: 'recent', loaded: { usedAtMs: 20 } };
    const asked = { id: 'asked', unservedAtMs: nowMs };
    expect(plan([old, recent, asked])).toEqual({ ...empty, evict: ['old'], waiting: ['asked'] });
    expect(plan([{ ...old, loaded: { leaving: true } }, recent, asked])).toEqual({ ...empty, waiting: ['asked'] });
    expect(plan([{ id: 'old', wasEvicted: true }, recent, asked])).toEqual({
      ...empty,
      load: ['asked'],
      waiting: ['old'],
    });
  });

  it('evicts nothing for a model without a recent request', () => {
    const loaded = [
      { id: 'a', loaded: {} },
      { id: 'b', loaded: {} },
    ];
    expect(plan([...loaded, { id: 'c' }]).evict).toEqual([]);
    expect(plan([...loaded, { id: 'c', unservedAtMs: nowMs - rules.demandMs - 1 }]).evict).toEqual([]);
    expect(plan([...loaded, { id: 'c', pinned: true }]).evict).toEqual(['a']);
  });

  it('evicts nothing that runs, is pinned, is new, or was used after the request', () => {
    const asked = { id: 'asked', needs: 90, unservedAtMs: nowMs };
    const evictedFor = (loaded: Options) => plan([loaded, asked]).evict;
    expect(evictedFor({ id: 'a', loaded: {} })).toEqual(['a']);
    expect(evictedFor({ id: 'a', loaded: { inFlight: 1 } })).toEqual([]);
    expect(evictedFor({ id: 'a', pinned: true, loaded: {} })).toEqual([]);
    expect(evictedFor({ id: 'a', loaded: { readyAtMs: nowMs - rules.residencyMs + 1 } })).toEqual([]);
    expect(evictedFor({ id: 'a', loaded: { readyAtMs: null } })).toEqual([]);
    expect(evictedFor({ id: 'a', loaded: { usedAtMs: nowMs } })).toEqual([]);
  });

  it('evicts nothing in vain, and no more than needed', () => {
    const asked = { id: 'asked', needs: 70, unservedAtMs: nowMs };
    const busy = { id: 'busy', needs: 40, loaded: { inFlight: 1 } };
    expect(plan([busy, { id: 'a', needs: 40, loaded: {} }, asked]).evict).toEqual([]);
    const [small, large] = [
      { id: 'small', needs: 10, loaded: { usedAtMs: 1 } },
      { id: 'large', needs: 60, loaded: { usedAtMs: 2 } },
    ];
    expect(plan([small, large, asked]).evict).toEqual(['large']);
  });

  it('evicts down to the low-water mark when models exceed the budget', () => {
    const loaded = [
      { id: 'a', needs: 5, loaded: { usedAtMs: 1 } },
      { id: 'b', needs: 30, loaded: { usedAtMs: 2 } },
      { id: 'c', needs: 66, loaded: { usedAtMs: 3 } },
    ];
    expect(plan(loaded).evict).toEqual(['b']);
    expect(
      plan([
        { id: 'a', needs: 5, loaded: {} },
        { id: 'c', needs: 96, pinned: true, loaded: {} },
      ]).evict,
    ).toEqual(['a']);
  });

  it('accounts for each device separately', () => {
    const two = { ...rules, budgets: { cpu: 100, cuda: 10 } };
    const onBoth = { ...model({ id: 'a' }), needs: { cpu: 10, cuda: 8 } };
    const asked = { ...model({ id: 'b', unservedAtMs: nowMs }), needs: { cpu: 10, cuda: 8 } };
    const loaded = { readyAtMs: 0, usedAtMs: 1, inFlight: 0, leaving: false };
    const oldest = model({ id: 'oldest', loaded: { usedAtMs: 0 } });
    expect(planResidency([oldest, { ...onBoth, loaded }, asked], two, nowMs).evict).toEqual(['a']);
    const huge = { ...onBoth, needs: { cuda: 11 } };
    expect(planResidency([huge], two, nowMs).refused).toMatchObject([{ device: 'cuda', needBytes: 11 }]);
  });
});

const anyModel = fc.record({
  needs: fc.record({ cpu: fc.integer({ min: 0, max: 130 }), cuda: fc.integer({ min: 0, max: 60 }) }),
  pinned: fc.boolean(),
  unservedAtMs: fc.option(fc.integer({ min: nowMs - 120_000, max: nowMs })),
  wasEvicted: fc.boolean(),
  loaded: fc.option(
    fc.record({
      readyAtMs: fc.option(fc.integer({ min: nowMs - 120_000, max: nowMs })),
      usedAtMs: fc.integer({ min: nowMs - 120_000, max: nowMs }),
      inFlight: fc.integer({ min: 0, max: 1 }),
      leaving: fc.boolean(),
    }),
  ),
});

describe('any plan', () => {
  const devices = { ...rules, budgets: { cpu: 100, cuda: 50 } };
  const anyModels = fc
    .array(anyModel, { maxLength: 8 })
    .map((models) => models.map((each, index) => ({ ...each, id: `m${index}` })));

  const usedBy = (models: ResidencyModel[], device: 'cpu' | 'cuda') =>
    models.reduce((used, { needs }) => used + (needs[device] ?? 0), 0);

  it('never loads beyond a budget and keeps models that run, are pinned, new, loading or leaving', () => {
    fc.assert(
      fc.property(anyModels, (models) => {
        const { load, evict, refused, waiting } = planResidency(models, devices, nowMs);
        const named = (ids: string[]) => models.filter(({ id }) => ids.includes(id));
        if (load.length > 0) {
          const present = [...models.filter(({ loaded }) => loaded !== null), ...named(load)];
          for (const device of ['cpu', 'cuda'] as const) {
            expect(usedBy(present, device)).toBeLessThanOrEqual(devices.budgets[device]);
          }
        }
        for (const { loaded, pinned } of named(evict)) {
          expect(loaded).toMatchObject({ inFlight: 0, leaving: false });
          expect(pinned).toBe(false);
          expect(nowMs - (loaded?.readyAtMs ?? nowMs)).toBeGreaterThanOrEqual(devices.residencyMs);
        }
        const absent = models.filter(({ loaded }) => loaded === null).map(({ id }) => id);
        expect([...load, ...waiting, ...refused.map(({ id }) => id)].sort()).toEqual(absent.sort());
        expect(new Set(evict).size).toBe(evict.length);
      }),
      { numRuns: 2_000 },
    );
  });
});

/** A simulated worker: applies a plan at once, and an unload one step later. */
class SimulatedWorker {
  nowMs = 0;
  readonly models: ResidencyModel[];
  readonly loads: { id: string; atMs: number }[] = [];
  readonly evictions: { id: string; atMs: number; stayedMs: number }[] = [];

  constructor(
    sizes: readonly number[],
    private readonly rules: ResidencyRules,
  ) {
    this.models = sizes.map((needs, index) => model({ id: `m${index}`, needs }));
  }

  get used(): number {
    return this.models.reduce((used, { loaded, needs }) => used + (loaded === null ? 0 : (needs.cpu ?? 0)), 0);
  }

  /** Requests a model; returns true when it was loaded. */
  ask(index: number): boolean {
    const asked = this.models[index];
    if (asked === undefined) return false;
    if (asked.loaded !== null && !asked.loaded.leaving) asked.loaded.usedAtMs = this.nowMs;
    else asked.unservedAtMs = this.nowMs;
    return asked.unservedAtMs === null;
  }

  step(ms: number): void {
    this.nowMs += ms;
    for (const each of this.models) if (each.loaded?.leaving) each.loaded = null;
    const { load, evict } = planResidency(this.models, this.rules, this.nowMs);
    for (const each of this.models) {
      if (load.includes(each.id)) {
        each.loaded = { readyAtMs: this.nowMs, usedAtMs: this.nowMs, inFlight: 0, leaving: false };
        each.unservedAtMs = null;
        this.loads.push({ id: each.id, atMs: this.nowMs });
      }
      if (!evict.includes(each.id) || each.loaded === null) continue;
      const stayedMs = this.nowMs - (each.loaded.readyAtMs ?? this.nowMs);
      this.evictions.push({ id: each.id, atMs: this.nowMs, stayedMs });
      each.loaded.leaving = true;
      each.wasEvicted = true;
    }
  }
}

describe('a worker that follows its plans', () => {
  it('alternates between two models at most once per residency time', () => {
    const worker = new SimulatedWorker([60, 60], rules);
    for (let second = 0; second < 3_600; second++) {
      worker.ask(second % 2);
      worker.step(1_000);
    }
    const swaps = worker.evictions.length;
    expect(swaps).toBeGreaterThan(10);
    expect(swaps).toBeLessThanOrEqual(60);
  });

  it('stays within its budget, keeps each model its minimum time, and eventually serves every persistent client', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 6 });
    const asks = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.integer({ min: 10, max: 30_000 })), { maxLength: 120 });
    fc.assert(
      fc.property(sizes, asks, (given, steps) => {
        const worker = new SimulatedWorker(given, rules);
        for (const [index, ms] of steps) {
          worker.ask(index);
          worker.step(ms);
          expect(worker.used).toBeLessThanOrEqual(100);
        }
        for (const { stayedMs } of worker.evictions) expect(stayedMs).toBeGreaterThanOrEqual(rules.residencyMs);
        // The others stop; one client retries every second.
        const patient = given.length - 1;
        for (let second = 0; second < 180; second++) {
          worker.ask(patient);
          worker.step(1_000);
        }
        expect(worker.ask(patient)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
