import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FailureRule, LimitStore, TakeAnswer } from './limit-store.js';
import { dayWindow, type LimitWindow, minuteWindow } from './limit-window.js';

/** Two seconds instead of a minute, for tests that wait until slots leave. */
export const shortWindow: LimitWindow = { lengthMs: 2_000, slotMs: 50 };

export interface StoreUnderTest {
  /** Three clients of one server, each with its own connections, like replicas. */
  open(window: LimitWindow): Promise<LimitStore[]>;
  close(): Promise<void>;
}

interface Grant {
  nowMs: number;
  slot: number;
  tokens: number;
}

/** The guarantees of every store. */
export function describeLimitStore(name: string, start: () => Promise<StoreUnderTest>): void {
  describe(`a limit store on ${name}`, () => {
    let server: StoreUnderTest;
    let minutes: LimitStore[] = [];
    let shorts: LimitStore[] = [];
    const guard = 'nobody';

    beforeAll(async () => {
      server = await start();
      [minutes, shorts] = await Promise.all([server.open(minuteWindow), server.open(shortWindow)]);
    });
    afterAll(async () => {
      await Promise.all([...minutes, ...shorts].map((store) => store.close()));
      await server.close();
    });

    const pick = (stores: LimitStore[], index: number): LimitStore => stores[index % stores.length] as LimitStore;
    const replica = (index: number): LimitStore => pick(minutes, index);
    const short = (index: number): LimitStore => pick(shorts, index);
    const one = (
      store: LimitStore,
      key: string,
      { requests = null, tokens = null }: { requests?: number | null; tokens?: number | null },
      cost = 0,
    ) => store.take({ guard, tokens: cost, windows: [{ key, requests, tokens }] });

    /** Returns the maximum count within any stretch of a window's length. */
    function peak(grants: Grant[], weigh: (grant: Grant) => number): number {
      return Math.max(
        0,
        ...grants.map(({ nowMs }) =>
          grants
            .filter((other) => other.nowMs <= nowMs && other.nowMs > nowMs - shortWindow.lengthMs)
            .reduce((sum, grant) => sum + weigh(grant), 0),
        ),
      );
    }

    it('grants exactly the limit to a burst over three replicas', async () => {
      const key = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 120 }, (_, index) => one(replica(index), key, { requests: 50 })),
      );
      expect(answers.filter(({ granted }) => granted)).toHaveLength(50);
      const refused = answers.filter(({ granted }) => !granted);
      expect(refused.every(({ states }) => states[0]?.lacking === 'requests')).toBe(true);
    });

    it('counts a window of a day beside its own, and corrects it', async () => {
      const key = randomUUID();
      const take = (index: number) => {
        const windows = [{ key, requests: null, tokens: 100 }];
        return replica(index).take({ guard, tokens: 60, windows, window: dayWindow });
      };
      const first = await take(0);
      const second = await take(1);
      expect([first.granted, second.granted, second.states[0]?.tokens]).toEqual([true, false, 60]);
      expect(second.states[0]?.waitMs).toBeGreaterThan(dayWindow.lengthMs - 1_000);
      expect(second.states[0]?.waitMs).toBeLessThanOrEqual(dayWindow.lengthMs + dayWindow.slotMs);
      await replica(2).correct([key], first.slot, -30);
      expect((await take(1)).granted).toBe(true);
    });

    it('never exceeds the tokens of a window, whatever sizes race for it', async () => {
      const key = randomUUID();
      const sizes = Array.from({ length: 90 }, (_, index) => (index * 37) % 100);
      const answers = await Promise.all(
        sizes.map((tokens, index) => one(replica(index), key, { tokens: 1_000 }, tokens)),
      );
      const taken = answers.reduce((sum, { granted }, index) => sum + (granted ? (sizes[index] ?? 0) : 0), 0);
      expect(taken).toBeLessThanOrEqual(1_000);
      // None of the refused requests would have fitted beside the rest.
      const left = 1_000 - taken;
      for (const [index, { granted }] of answers.entries()) if (!granted) expect(sizes[index]).toBeGreaterThan(left);
    });

    it('holds the limit in every stretch of a window, and refuses nothing that would fit', async () => {
      const key = randomUUID();
      const limit = 40;
      const grants: Grant[] = [];
      const refusals: TakeAnswer[] = [];
      const hammer = async (index: number): Promise<void> => {
        // Until the window has been full three times, with refusals in between.
        const giveUpAtMs = performance.now() + 40_000;
        while (grants.length < 3 * limit && performance.now() < giveUpAtMs) {
          const answer = await one(short(index), key, { requests: limit }, 1);
          if (answer.granted) grants.push({ nowMs: answer.nowMs, slot: answer.slot, tokens: 1 });
          else refusals.push(answer);
          await sleep(3);
        }
      };
      await Promise.all([0, 1, 2].map(hammer));
      expect(peak(grants, () => 1)).toBe(limit);
      const span = shortWindow.lengthMs / shortWindow.slotMs;
      for (const { nowMs, slot } of refusals) {
        const held = grants.filter((grant) => grant.nowMs <= nowMs && slot - grant.slot <= span).length;
        expect(held).toBeGreaterThanOrEqual(limit);
      }
      expect(refusals.length).toBeGreaterThan(0);
      expect(grants.length).toBeGreaterThanOrEqual(3 * limit);
    });

    it('reports the wait, and grants after it', async () => {
      const key = randomUUID();
      await one(short(0), key, { requests: 2 });
      // Far enough apart that the second one is still there when the first one has left, however late the check runs.
      await sleep(shortWindow.lengthMs / 2);
      await one(short(0), key, { requests: 2 });
      const { states } = await one(short(0), key, { requests: 2 });
      const { waitMs = 0, requestsResetMs = 0 } = states[0] ?? {};
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBe(requestsResetMs);
      expect(waitMs).toBeLessThanOrEqual(shortWindow.lengthMs + shortWindow.slotMs);
      await sleep(waitMs + 2);
      expect(await one(short(0), key, { requests: 2 })).toMatchObject({ granted: true, states: [{ requests: 1 }] });
    });

    it('waits for as many slots as the tokens need', async () => {
      const key = randomUUID();
      const first = await one(short(1), key, { tokens: 100 }, 40);
      await sleep(2 * shortWindow.slotMs);
      const second = await one(short(1), key, { tokens: 100 }, 60);
      const leaves = (answer: TakeAnswer) => (answer.slot + 1) * shortWindow.slotMs + shortWindow.lengthMs;
      const small = await one(short(1), key, { tokens: 100 }, 30);
      const large = await one(short(1), key, { tokens: 100 }, 70);
      expect(small.states[0]).toMatchObject({ lacking: 'tokens', waitMs: leaves(first) - small.nowMs });
      expect(large.states[0]).toMatchObject({ lacking: 'tokens', waitMs: leaves(second) - large.nowMs });
    });

    it('takes from all windows or from none', async () => {
      const [account, key, all] = [randomUUID(), randomUUID(), randomUUID()];
      const demand = (requests: number) => ({
        guard,
        tokens: 5,
        windows: [
          { key: account, requests: 10, tokens: 100 },
          { key, requests, tokens: null },
          { key: all, requests: null, tokens: 6 },
        ],
      });
      expect((await replica(0).take(demand(1))).granted).toBe(true);
      const refused = await replica(1).take(demand(1));
      expect(refused).toMatchObject({
        granted: false,
        states: [{ lacking: null }, { lacking: 'requests' }, { lacking: 'tokens' }],
      });
      const after = await replica(2).take(demand(0));
      expect(after.states.map(({ requests, tokens }) => [requests, tokens])).toEqual([
        [1, 5],
        [1, 5],
        [1, 5],
      ]);
    });

    it('refunds excess reservations, so that nearly all of a limit is usable', async () => {
      const key = randomUUID();
      const limit = 10_000;
      let used = 0;
      for (let index = 0; ; index += 1) {
        const { granted, slot } = await one(replica(index), key, { tokens: limit }, 150);
        if (!granted) break;
        await replica(index + 1).correct([key], slot, 50 - 150);
        used += 50;
      }
      expect(used).toBeLessThanOrEqual(limit);
      expect(used / limit).toBeGreaterThanOrEqual(0.98);
    });

    it('counts usage beyond the reservation, and ignores corrections that come too late', async () => {
      const key = randomUUID();
      const { slot } = await one(short(0), key, { tokens: 100 }, 10);
      await short(1).correct([key], slot, 85);
      expect((await one(short(0), key, { tokens: 100 }, 10)).granted).toBe(false);
      await sleep(shortWindow.lengthMs + 3 * shortWindow.slotMs);
      await one(short(0), key, { tokens: 100 }, 20);
      await short(1).correct([key], slot, -1_000);
      await short(1).correct([randomUUID()], slot, -1_000);
      expect((await one(short(0), key, { tokens: 100 }, 0)).states[0]).toMatchObject({ requests: 1, tokens: 20 });
    });

    it('never refunds more than was reserved in the slot', async () => {
      const key = randomUUID();
      const { slot } = await one(replica(0), key, { tokens: 100 }, 10);
      await replica(1).correct([key], slot, -1_000);
      expect((await one(replica(0), key, { tokens: 100 }, 0)).states[0]).toMatchObject({ requests: 1, tokens: 0 });
    });

    it('grants nothing where the limit is zero', async () => {
      expect(await one(replica(0), randomUUID(), { requests: 0 })).toMatchObject({
        granted: false,
        states: [{ lacking: 'requests', requests: 0 }],
      });
    });

    describe('failures', () => {
      const rule: FailureRule = { max: 5, window: shortWindow, blockMs: 1_000 };

      it('block a guard once, for as long as the rule says, on every replica', async () => {
        const caller = randomUUID();
        const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => replica(index).fail(caller, rule)));
        expect(answers.filter(({ began }) => began)).toHaveLength(1);
        expect(answers.filter(({ blockedMs }) => blockedMs === 0)).toHaveLength(5);
        const key = randomUUID();
        const blocked = await replica(1).take({
          guard: caller,
          tokens: 0,
          windows: [{ key, requests: 10, tokens: null }],
        });
        expect(blocked).toMatchObject({ granted: false, states: [] });
        expect(blocked.blockedMs).toBeGreaterThan(0);
        expect(blocked.blockedMs).toBeLessThanOrEqual(rule.blockMs);
        await sleep(rule.blockMs + 20);
        const free = await replica(2).take({
          guard: caller,
          tokens: 0,
          windows: [{ key, requests: 10, tokens: null }],
        });
        expect(free).toMatchObject({ granted: true, states: [{ requests: 0 }] });
        // The count has restarted.
        expect(await replica(0).fail(caller, rule)).toMatchObject({ blockedMs: 0, began: false });
      });

      it('that are further apart than the window do not block', async () => {
        const caller = randomUUID();
        for (let index = 0; index < 5; index += 1) await replica(index).fail(caller, rule);
        await sleep(shortWindow.lengthMs + 2 * shortWindow.slotMs);
        expect(await replica(0).fail(caller, rule)).toMatchObject({ blockedMs: 0, began: false });
      });

      it('of one guard do not affect others', async () => {
        const [bad, good] = [randomUUID(), randomUUID()];
        for (let index = 0; index < 6; index += 1) await replica(index).fail(bad, rule);
        const key = randomUUID();
        const answer = await replica(0).take({ guard: good, tokens: 0, windows: [{ key, requests: 1, tokens: null }] });
        expect(answer.granted).toBe(true);
      });
    });

    describe('open requests', () => {
      const open = (index: number, leaseId: string, keys: readonly string[], limits: readonly number[], ms = 60_000) =>
        replica(index).open({ leaseId, keys, limits, lifetimeMs: ms });

      it('never exceed the limit, whichever replicas they come to at once, and leave their room when they end', async () => {
        const key = randomUUID();
        const answers = await Promise.all(
          Array.from({ length: 60 }, (_value, index) => open(index, `lease ${index}`, [key], [7])),
        );
        expect(answers.filter(({ granted }) => granted)).toHaveLength(7);
        const held = answers.flatMap(({ granted }, index) => (granted ? [`lease ${index}`] : []));
        for (const leaseId of held.slice(0, 3)) await replica(1).release({ leaseId, keys: [key] });
        const more = await Promise.all(
          Array.from({ length: 20 }, (_value, index) => open(index, `more ${index}`, [key], [7])),
        );
        expect(more.filter(({ granted }) => granted)).toHaveLength(3);
      });

      it('count for all of their limits or for none, and say how many others are open', async () => {
        const [account, narrow, wide] = [randomUUID(), randomUUID(), randomUUID()];
        expect(await open(0, 'a', [account, narrow], [3, 1])).toEqual({ granted: true, open: [0, 0] });
        expect(await open(1, 'b', [account, narrow], [3, 1])).toEqual({ granted: false, open: [1, 1] });
        expect(await open(2, 'c', [account, wide], [3, 9])).toEqual({ granted: true, open: [1, 0] });
        await replica(0).release({ leaseId: 'a', keys: [account, narrow] });
        expect(await open(1, 'b', [account, narrow], [3, 1])).toEqual({ granted: true, open: [1, 0] });
      });

      it('count once, however often they are opened and released', async () => {
        const key = randomUUID();
        for (let again = 0; again < 3; again += 1) {
          expect(await open(again, 'same', [key], [1])).toEqual({ granted: true, open: [0] });
        }
        for (let again = 0; again < 3; again += 1) await replica(again).release({ leaseId: 'same', keys: [key] });
        expect(await open(0, 'next', [key], [1])).toEqual({ granted: true, open: [0] });
      });

      it('of a replica that died are over when their lease expires, and those of one that renews are not', async () => {
        const key = randomUUID();
        await open(0, 'lost', [key], [2], 300);
        await open(1, 'alive', [key], [2], 300);
        const renewing = setInterval(() => void replica(1).renew([{ leaseId: 'alive', keys: [key] }], 60_000), 50);
        try {
          await expect.poll(async () => (await open(2, 'third', [key], [2])).granted, { timeout: 10_000 }).toBe(true);
        } finally {
          clearInterval(renewing);
        }
        expect(await open(2, 'fourth', [key], [2])).toEqual({ granted: false, open: [2] });
      });

      it('that have ended are not opened again by a late renewal', async () => {
        const key = randomUUID();
        await open(0, 'ended', [key], [1]);
        await replica(0).release({ leaseId: 'ended', keys: [key] });
        await replica(0).renew([{ leaseId: 'ended', keys: [key] }], 60_000);
        expect(await open(1, 'next', [key], [1])).toEqual({ granted: true, open: [0] });
      });
    });
  });
}
