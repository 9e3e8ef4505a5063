import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairOrder, maxSpread, rebaseAt, tagsPerJob } from './fair-order.js';
import type { FairTurn } from '../contract/fair-turn.js';

interface Job {
  readonly account: string;
  readonly index: number;
  tag: number;
}

/** A queue with one worker, ordered as the stores do: by tag, then by arrival. */
class FairQueue {
  readonly waiting: Job[] = [];
  readonly served: Job[] = [];
  highest = 0;
  /** Jobs that could go first, and whose jobs waited then. */
  readonly first: { account: string; waits: string[] }[] = [];
  private count = 0;

  constructor(readonly order = new FairOrder()) {}

  add(turn: FairTurn): void {
    this.order.advance(this.waiting.length === 0 ? null : Math.min(...this.waiting.map(({ tag }) => tag)));
    const shift = this.order.rebase();
    for (const job of this.waiting) job.tag = Math.max(1, job.tag - shift);
    const { tag, goesFirst } = this.order.assign(turn);
    if (goesFirst) this.first.push({ account: turn.account, waits: this.waiting.map(({ account }) => account) });
    this.highest = Math.max(this.highest, tag);
    this.waiting.push({ account: turn.account, index: (this.count += 1), tag });
  }

  serve(): Job | null {
    const next = this.waiting.reduce<Job | null>(
      (best, job) => (best === null || job.tag < best.tag ? job : best),
      null,
    );
    if (next === null) return null;
    this.waiting.splice(this.waiting.indexOf(next), 1);
    this.served.push(next);
    return next;
  }

  has(account: string): boolean {
    return this.waiting.some((job) => job.account === account);
  }
}

const accounts = ['a', 'b', 'c', 'd'];
const weights = fc.constantFrom(1, 2, 4, 8, 16);
/** Null serves a job. */
const events = fc.array(fc.option(fc.constantFrom(...accounts), { freq: 2 }), { maxLength: 200 });

describe('the fair order', () => {
  it('gives two accounts with a backlog their shares, up to one job of each, over any interval', () => {
    const property = fc.property(fc.array(weights, { minLength: 4, maxLength: 4 }), events, (given, list) => {
      const weightOf = new Map(accounts.map((account, index) => [account, given[index] ?? 1]));
      const queue = new FairQueue();
      // What every prefix has served, and who had a backlog all through it since when.
      const history: { served: Map<string, number>; waits: Set<string> }[] = [];
      const note = () => {
        const served = new Map(
          accounts.map((name) => [name, queue.served.filter((job) => job.account === name).length]),
        );
        history.push({ served, waits: new Set(accounts.filter((account) => queue.has(account))) });
      };
      for (const event of list) {
        if (event === null) queue.serve();
        else queue.add({ account: event, weight: weightOf.get(event) });
        note();
      }
      for (const [from, first] of history.entries()) {
        let both = new Set(first.waits);
        for (const last of history.slice(from)) {
          both = new Set([...both].filter((account) => last.waits.has(account)));
          for (const one of both) {
            for (const other of both) {
              const shareOf = (account: string) =>
                ((last.served.get(account) ?? 0) - (first.served.get(account) ?? 0)) / (weightOf.get(account) ?? 1);
              const bound = 1 / (weightOf.get(one) ?? 1) + 1 / (weightOf.get(other) ?? 1);
              expect(shareOf(one) - shareOf(other)).toBeLessThanOrEqual(bound + 1e-9);
            }
          }
        }
      }
    });
    fc.assert(property, { numRuns: 60 });
  });

  it('makes a job of an account without others wait for at most one round', () => {
    const property = fc.property(events, fc.nat({ max: 300 }), (list, flood) => {
      const queue = new FairQueue();
      for (let job = 0; job < flood; job += 1) queue.add({ account: 'flood' });
      for (const event of list) {
        if (event === null) queue.serve();
        else queue.add({ account: event });
      }
      queue.add({ account: 'single' });
      const others = new Set(queue.waiting.map(({ account }) => account)).size - 1;
      let before = 0;
      while (queue.serve()?.account !== 'single') before += 1;
      // One job of each other account, since all have weight 1.
      expect(before).toBeLessThanOrEqual(others);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('serves the jobs of one account in the order of their arrival', () => {
    const property = fc.property(events, weights, (list, weight) => {
      const queue = new FairQueue();
      for (const event of list) {
        if (event === null) queue.serve();
        else queue.add({ account: event, weight });
      }
      while (queue.serve() !== null);
      for (const account of accounts) {
        const order = queue.served.filter((job) => job.account === account).map(({ index }) => index);
        expect(order).toEqual(order.toSorted((one, other) => one - other));
      }
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('lets only accounts go first that have nothing waiting, once until the virtual time has passed that job', () => {
    const property = fc.property(events, weights, (list, weight) => {
      const queue = new FairQueue();
      for (const event of list) {
        if (event === null) queue.serve();
        else queue.add({ account: event, weight });
      }
      for (const { account, waits } of queue.first) {
        expect(waits).not.toContain(account);
        expect(waits.length).toBeGreaterThan(0);
      }
    });
    fc.assert(property, { numRuns: 300 });
    const order = new FairOrder();
    const add = (account: string) => {
      order.advance(1);
      return order.assign({ account }).goesFirst;
    };
    expect([add('flood'), add('flood'), add('single'), add('single')]).toEqual([true, false, true, false]);
    order.advance(1 + tagsPerJob * 2);
    expect(order.assign({ account: 'single' }).goesFirst).toBe(true);
    order.advance(null);
    expect(order.assign({ account: 'single' }).goesFirst).toBe(false);
  });

  it('lets a caller with few outstanding jobs starve nobody who has many', () => {
    const queue = new FairQueue();
    for (let job = 0; job < 50; job += 1) queue.add({ account: 'many' });
    for (let turn = 0; turn < 40; turn += 1) {
      while (queue.waiting.filter(({ account }) => account === 'few').length < 2) queue.add({ account: 'few' });
      queue.serve();
    }
    const ofMany = queue.served.filter(({ account }) => account === 'many').length;
    expect(ofMany).toBeGreaterThanOrEqual(19);
  });

  it('puts recovered jobs before the others of their account, and not before more than a round of other accounts', () => {
    const queue = new FairQueue();
    for (let job = 0; job < 20; job += 1) queue.add({ account: 'a' });
    for (let job = 0; job < 20; job += 1) queue.add({ account: 'b' });
    for (let job = 0; job < 3; job += 1) queue.add({ account: 'a', isRecovered: true });
    const served = Array.from({ length: 12 }, () => queue.serve());
    const recovered = served.flatMap((job, position) => (job !== null && job.index > 40 ? [position] : []));
    expect(recovered).toHaveLength(3);
    expect(served.filter((job) => job?.account === 'b').length).toBeGreaterThanOrEqual(3);
    // The account pays for them later.
    queue.add({ account: 'a' });
    expect(queue.waiting.at(-1)!.tag).toBe(Math.max(...queue.waiting.map(({ tag }) => tag)));
  });

  it('keeps every tag within the priorities of BullMQ, and the shares, over a backlog that never ends', () => {
    const order = new FairOrder();
    order.now = order.top = rebaseAt - 500;
    const queue = new FairQueue(order);
    for (let job = 0; job < 10; job += 1) for (const account of ['a', 'b']) queue.add({ account });
    for (let turn = 0; turn < 300; turn += 1) {
      const account = queue.serve()?.account ?? 'a';
      queue.add({ account });
    }
    expect(queue.order.now).toBeLessThan(rebaseAt);
    expect(queue.highest).toBeLessThanOrEqual(2 ** 21);
    const ofA = queue.served.filter(({ account }) => account === 'a').length;
    expect(Math.abs(ofA - 150)).toBeLessThanOrEqual(1);
  });

  it('bounds the tag of an account whose backlog is longer than the range', () => {
    const order = new FairOrder();
    order.advance(null);
    let last = 0;
    for (let job = 0; job < maxSpread / tagsPerJob + 10; job += 1) {
      order.advance(1);
      last = order.assign({ account: 'a' }).tag;
    }
    expect(last).toBe(1 + maxSpread);
    expect(order.assign({ account: 'b' }).tag).toBe(1);
  });
});
