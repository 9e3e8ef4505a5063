import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LeaseDemand } from './store/limit-store.js';
import { TurnPool } from './turn-pool.js';

/* Turns over replicas of one scripted store, on a clock of the test. */

const never = new AbortController().signal;

let open: Set<string>;
let asked: number;

const store = {
  open: ({ leaseId, limits }: LeaseDemand) => {
    asked += 1;
    const others = open.size - Number(open.has(leaseId));
    const granted = others < (limits[0] ?? 0);
    if (granted) open.add(leaseId);
    return Promise.resolve({ granted, open: [others] });
  },
  release: ({ leaseId }: { leaseId: string }) => Promise.resolve(void open.delete(leaseId)),
};
const poolOf = (onEmpty = (): void => undefined): TurnPool => new TurnPool({ store, key: 'credits:a', onEmpty });

beforeEach(() => {
  vi.useFakeTimers();
  [open, asked] = [new Set(), 0];
});
afterEach(() => {
  vi.useRealTimers();
});

/** Resolves to the turn, letting the clock run. */
async function enter(pool: TurnPool, limit = 1): Promise<() => void> {
  const entered = pool.enter(limit, never);
  await vi.advanceTimersByTimeAsync(0);
  return await entered;
}

describe('the turns of an account in a replica', () => {
  it('are used by one request after the other without asking the store', async () => {
    const pool = poolOf();
    for (let round = 0; round < 10; round += 1) {
      const leave = await enter(pool);
      await vi.advanceTimersByTimeAsync(5);
      leave();
      leave();
    }
    expect([asked, open.size]).toEqual([1, 1]);
  });

  it('are passed on in the order of arrival, and never more than the limit', async () => {
    const pool = poolOf();
    let running = 0;
    const order: number[] = [];
    const run = async (index: number): Promise<void> => {
      const leave = await pool.enter(2, never);
      running += 1;
      expect(running).toBeLessThanOrEqual(2);
      order.push(index);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running -= 1;
      leave();
    };
    const all = Promise.all(Array.from({ length: 8 }, (_, index) => run(index)));
    await vi.advanceTimersByTimeAsync(200);
    await all;
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(asked).toBeLessThanOrEqual(3);
  });

  it('go back to the store soon after the last request', async () => {
    const onEmpty = vi.fn();
    const pool = poolOf(onEmpty);
    (await enter(pool))();
    await vi.advanceTimersByTimeAsync(60);
    expect(open.size).toBe(0);
    expect(onEmpty).toHaveBeenCalled();
  });

  it('go at once when they stayed in vain twice, until one is used again', async () => {
    const pool = poolOf();
    for (let round = 0; round < 2; round += 1) {
      (await enter(pool))();
      await vi.advanceTimersByTimeAsync(100);
    }
    (await enter(pool))();
    await vi.advanceTimersByTimeAsync(0);
    expect(open.size).toBe(0);
    await vi.advanceTimersByTimeAsync(1_100);
    (await enter(pool))();
    expect(open.size).toBe(1);
  });

  it('reach another replica although one is always busy', async () => {
    const [busy, other] = [poolOf(), poolOf()];
    let isOver = false;
    const work = async (): Promise<void> => {
      while (!isOver) {
        const leave = await busy.enter(1, never);
        await new Promise((resolve) => setTimeout(resolve, 5));
        leave();
      }
    };
    const works = [work(), work()];
    await vi.advanceTimersByTimeAsync(10);
    const entered = vi.fn();
    void other.enter(1, never).then((leave) => (entered(), leave()));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(entered).toHaveBeenCalledOnce();
    isOver = true;
    await vi.advanceTimersByTimeAsync(6_000);
    await Promise.all(works);
  });

  it('leave no trace of a client that left while it waited', async () => {
    const pool = poolOf();
    const leave = await enter(pool);
    const client = new AbortController();
    const waiting = pool.enter(1, client.signal);
    client.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(pool.waiting).toBe(0);
    leave();
    (await enter(pool))();
    expect(asked).toBe(1);
  });

  it('fail with the store', async () => {
    const broken = { ...store, open: () => Promise.reject(new Error('no store')) };
    const pool = new TurnPool({ store: broken, key: 'k', onEmpty: () => undefined });
    await expect(pool.enter(1, never)).rejects.toThrow('no store');
  });
});
