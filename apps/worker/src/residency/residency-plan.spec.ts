import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planResidency, type ResidencyModel, type ResidencyRules } from './residency-plan.js';

const rules: ResidencyRules = { budgets: { cpu: 100 }, lowWater: 0.9, residencyMs: 60_000, demandMs: 60_000 };
const nowMs = 1_000_000;

interface Options extends Partial<Omit<ResidencyModel, 'held' | 'needs'>> {
  id: string;
  needs?: number;
  held?: Partial<NonNullable<ResidencyModel['held']>>;
}

function model({ needs = 40, held, ...rest }: Options): ResidencyModel {
  const whole = { readyAtMs: 0, usedAtMs: 0, inFlight: 0, leaving: false };
  const defaults = { pinned: false, missedAtMs: null, wasEvicted: false };
  return { ...defaults, ...rest, needs: { cpu: needs }, held: held === undefined ? null : { ...whole, ...held } };
}

const plan = (wishes: Options[]) => planResidency(wishes.map(model), rules, nowMs);
const empty = { load: [], evict: [], refused: [], waiting: [] };

describe('planResidency', () => {
  it('loads what fits, in order, and lets the rest wait', () => {
    const wishes = [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd', needs: 20 }];
    expect(plan(wishes)).toEqual({ ...empty, load: ['a', 'b', 'd'], waiting: ['c'] });
  });

  it('refuses a model that is larger than the device and goes on with the others', () => {
    const wishes = [{ id: 'huge', needs: 101, pinned: true, missedAtMs: nowMs }, { id: 'b' }];
    expect(plan(wishes)).toEqual({
      ...empty,
      load: ['b'],
      refused: [{ id: 'huge', device: 'cpu', needBytes: 101, budgetBytes: 100 }],
    });
  });

  it('makes room for a model that is asked for: by the least recently used, which leaves first', () => {
    const old = { id: 'old', held: { usedAtMs: 10 } };
    const recent = { id: 'recent', held: { usedAtMs: 20 } };
    const asked = { id: 'asked', missedAtMs: nowMs };
    expect(plan([old, recent, asked])).toEqual({ ...empty, evict: ['old'], waiting: ['asked'] });
    expect(plan([{ ...old, held: { leaving: true } }, recent, asked])).toEqual({ ...empty, waiting: ['asked'] });
    expect(plan([{ id: 'old', wasEvicted: true }, recent, asked])).toEqual({
      ...empty,
      load: ['asked'],
      waiting: ['old'],
    });
  });

  it('unloads nothing for a model that nobody asks for, or asked for too long ago', () => {
    const held = [
      { id: 'a', held: {} },
      { id: 'b', held: {} },
    ];
    expect(plan([...held, { id: 'c' }]).evict).toEqual([]);
    expect(plan([...held, { id: 'c', missedAtMs: nowMs - rules.demandMs - 1 }]).evict).toEqual([]);
    expect(plan([...held, { id: 'c', pinned: true }]).evict).toEqual(['a']);
  });

  it('unloads nothing that runs, is pinned, is new, or was used after the other was asked for', () => {
    const asked = { id: 'asked', needs: 90, missedAtMs: nowMs };
    const evictedFor = (held: Options) => plan([held, asked]).evict;
    expect(evictedFor({ id: 'a', held: {} })).toEqual(['a']);
    expect(evictedFor({ id: 'a', held: { inFlight: 1 } })).toEqual([]);
    expect(evictedFor({ id: 'a', pinned: true, held: {} })).toEqual([]);
    expect(evictedFor({ id: 'a', held: { readyAtMs: nowMs - rules.residencyMs + 1 } })).toEqual([]);
    expect(evictedFor({ id: 'a', held: { readyAtMs: null } })).toEqual([]);
    expect(evictedFor({ id: 'a', held: { usedAtMs: nowMs } })).toEqual([]);
  });

  it('unloads none in vain, and none more than it takes', () => {
    const asked = { id: 'asked', needs: 70, missedAtMs: nowMs };
    const busy = { id: 'busy', needs: 40, held: { inFlight: 1 } };
    expect(plan([busy, { id: 'a', needs: 40, held: {} }, asked]).evict).toEqual([]);
    const [small, large] = [
      { id: 'small', needs: 10, held: { usedAtMs: 1 } },
      { id: 'large', needs: 60, held: { usedAtMs: 2 } },
    ];
    expect(plan([small, large, asked]).evict).toEqual(['large']);
  });

  it('goes back to the low water when models have outgrown the budget', () => {
    const held = [
      { id: 'a', needs: 5, held: { usedAtMs: 1 } },
      { id: 'b', needs: 30, held: { usedAtMs: 2 } },
      { id: 'c', needs: 66, held: { usedAtMs: 3 } },
    ];
    expect(plan(held).evict).toEqual(['b']);
    expect(
      plan([
        { id: 'a', needs: 5, held: {} },
        { id: 'c', needs: 96, pinned: true, held: {} },
      ]).evict,
    ).toEqual(['a']);
  });

  it('counts each device for itself', () => {
    const two = { ...rules, budgets: { cpu: 100, cuda: 10 } };
    const onBoth = { ...model({ id: 'a' }), needs: { cpu: 10, cuda: 8 } };
    const asked = { ...model({ id: 'b', missedAtMs: nowMs }), needs: { cpu: 10, cuda: 8 } };
    const held = { readyAtMs: 0, usedAtMs: 1, inFlight: 0, leaving: false };
    const oldest = model({ id: 'oldest', held: { usedAtMs: 0 } });
    expect(planResidency([oldest, { ...onBoth, held }, asked], two, nowMs).evict).toEqual(['a']);
    const huge = { ...onBoth, needs: { cuda: 11 } };
    expect(planResidency([huge], two, nowMs).refused).toMatchObject([{ device: 'cuda', needBytes: 11 }]);
  });
});

const anyModel = fc.record({
  needs: fc.record({ cpu: fc.integer({ min: 0, max: 130 }), cuda: fc.integer({ min: 0, max: 60 }) }),
  pinned: fc.boolean(),
  missedAtMs: fc.option(fc.integer({ min: nowMs - 120_000, max: nowMs })),
  wasEvicted: fc.boolean(),
  held: fc.option(
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

  it('never loads beyond a budget, and leaves what runs, is pinned, new, loading or leaving', () => {
    fc.assert(
      fc.property(anyModels, (models) => {
        const { load, evict, refused, waiting } = planResidency(models, devices, nowMs);
        const named = (ids: string[]) => models.filter(({ id }) => ids.includes(id));
        if (load.length > 0) {
          const present = [...models.filter(({ held }) => held !== null), ...named(load)];
          for (const device of ['cpu', 'cuda'] as const) {
            expect(usedBy(present, device)).toBeLessThanOrEqual(devices.budgets[device]);
          }
        }
        for (const { held, pinned } of named(evict)) {
          expect(held).toMatchObject({ inFlight: 0, leaving: false });
          expect(pinned).toBe(false);
          expect(nowMs - (held?.readyAtMs ?? nowMs)).toBeGreaterThanOrEqual(devices.residencyMs);
        }
        const absent = models.filter(({ held }) => held === null).map(({ id }) => id);
        expect([...load, ...waiting, ...refused.map(({ id }) => id)].sort()).toEqual(absent.sort());
        expect(new Set(evict).size).toBe(evict.length);
      }),
      { numRuns: 2_000 },
    );
  });
});

/** A worker on paper: what a plan says happens, an unload one step later. */
class PaperWorker {
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
    return this.models.reduce((used, { held, needs }) => used + (held === null ? 0 : (needs.cpu ?? 0)), 0);
  }

  /** A caller asks for a model; true when it was there. */
  ask(index: number): boolean {
    const asked = this.models[index];
    if (asked === undefined) return false;
    if (asked.held !== null && !asked.held.leaving) asked.held.usedAtMs = this.nowMs;
    else asked.missedAtMs = this.nowMs;
    return asked.missedAtMs === null;
  }

  step(ms: number): void {
    this.nowMs += ms;
    for (const each of this.models) if (each.held?.leaving) each.held = null;
    const { load, evict } = planResidency(this.models, this.rules, this.nowMs);
    for (const each of this.models) {
      if (load.includes(each.id)) {
        each.held = { readyAtMs: this.nowMs, usedAtMs: this.nowMs, inFlight: 0, leaving: false };
        each.missedAtMs = null;
        this.loads.push({ id: each.id, atMs: this.nowMs });
      }
      if (!evict.includes(each.id) || each.held === null) continue;
      const stayedMs = this.nowMs - (each.held.readyAtMs ?? this.nowMs);
      this.evictions.push({ id: each.id, atMs: this.nowMs, stayedMs });
      each.held.leaving = true;
      each.wasEvicted = true;
    }
  }
}

describe('a worker that follows its plans', () => {
  it('changes between two models that take turns at most once in the time of residency', () => {
    const worker = new PaperWorker([60, 60], rules);
    for (let second = 0; second < 3_600; second++) {
      worker.ask(second % 2);
      worker.step(1_000);
    }
    const swaps = worker.evictions.length;
    expect(swaps).toBeGreaterThan(10);
    expect(swaps).toBeLessThanOrEqual(60);
  });

  it('stays within its budget, keeps each model its time, and comes to whoever keeps asking', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 6 });
    const asks = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.integer({ min: 10, max: 30_000 })), { maxLength: 120 });
    fc.assert(
      fc.property(sizes, asks, (given, steps) => {
        const worker = new PaperWorker(given, rules);
        for (const [index, ms] of steps) {
          worker.ask(index);
          worker.step(ms);
          expect(worker.used).toBeLessThanOrEqual(100);
        }
        for (const { stayedMs } of worker.evictions) expect(stayedMs).toBeGreaterThanOrEqual(rules.residencyMs);
        // The others fall silent; one caller comes back every second.
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
