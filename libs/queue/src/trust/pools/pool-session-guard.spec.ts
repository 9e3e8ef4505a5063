import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PoolSessionGuard } from './pool-session-guard.js';

/** A guard that is already connected. */
function guardOf(query: (sql: string) => Promise<{ rows: object[] }>) {
  const end = vi.fn(async () => undefined);
  const warnings: string[] = [];
  const options = { url: 'postgres://server', schema: 'queue', warn: (message: string) => void warnings.push(message) };
  const guard = new PoolSessionGuard(options);
  Object.assign(guard, { client: { query, end } as unknown as pg.Client });
  return { guard, end, warnings };
}

/** A session of a pool that was ended. */
function session(number: number) {
  return { session: String(number), role: 'pool', reason: 'others waited', waits: false, ended: true };
}

describe('a guard of sessions of pools', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Runs a guard whose checks find what `find` returns. Resolves to the times of the checks and of the lockout. */
  const watch = async (find: () => object[], looks: number) => {
    const [times, lockOuts]: [number[], number[]] = [[], []];
    const { guard } = guardOf(async (sql) => {
      if (sql.includes('pg_policies')) return { rows: [{ role: 'pool' }] };
      if (sql.startsWith('ALTER ROLE')) lockOuts.push(performance.now());
      if (!sql.includes('WITH sessions')) return { rows: [] };
      times.push(performance.now());
      return { rows: find() };
    });
    guard.start();
    while (times.length < looks) await vi.advanceTimersByTimeAsync(50);
    await guard.close();
    return { pauses: times.slice(1).map((atMs, index) => Math.round(atMs - (times[index] ?? 0))), lockOuts };
  };

  it('looks again soon while a session keeps a transaction', async () => {
    const found = [[], [{ ...session(1), reason: null, ended: false }], []];
    const { pauses, lockOuts } = await watch(() => found.shift() ?? [], 4);
    expect({ pauses, lockOuts }).toEqual({ pauses: [1_000, 250, 1_000], lockOuts: [] });
  });

  it('counts the sessions that it ends at once as one time, and locks out at the fifth within a minute', async () => {
    let count = 0;
    const sessions = () => Array.from({ length: 20 }, () => session((count += 1)));
    expect((await watch(sessions, 4)).lockOuts).toEqual([]);
    expect((await watch(sessions, 5)).lockOuts).toHaveLength(1);
  });

  it('counts a session once that cannot end yet, and none that waits itself: the server is slow', async () => {
    expect((await watch(() => [session(1), session(2)], 30)).lockOuts).toEqual([]);
    let count = 0;
    const waiting = () => [{ ...session((count += 1)), waits: true }];
    expect((await watch(waiting, 30)).lockOuts).toEqual([]);
  });

  it('locks out a pool that stays below that and goes on for an hour', async () => {
    let looks = 0;
    const { lockOuts } = await watch(() => ((looks += 1) % 60 === 0 ? [session(looks)] : []), 20 * 60 + 1);
    expect(lockOuts).toHaveLength(1);
  });
});

describe('a guard of sessions of pools that is closed', () => {
  afterEach(() => void vi.useRealTimers());

  it('locks out nobody any more', async () => {
    const statements: string[] = [];
    let closed: Promise<void> | undefined;
    const { guard, end, warnings } = guardOf(async (sql) => {
      statements.push(sql);
      if (statements.length === 1) return { rows: [{ role: 'pool' }] };
      closed = guard.close();
      return { rows: Array.from({ length: 20 }, (_, index) => session(index)) };
    });
    guard.start();
    await vi.waitUntil(() => closed !== undefined);
    await closed;
    expect(statements.filter((sql) => sql.startsWith('ALTER ROLE'))).toEqual([]);
    expect([end.mock.calls.length, warnings]).toEqual([1, []]);
  });

  it('does not wait for a server that no longer answers', async () => {
    vi.useFakeTimers();
    const { guard, end } = guardOf(() => new Promise(() => undefined));
    guard.start();
    const closed = guard.close();
    await vi.advanceTimersByTimeAsync(2_000);
    await closed;
    expect(end).toHaveBeenCalledTimes(1);
  });
});
