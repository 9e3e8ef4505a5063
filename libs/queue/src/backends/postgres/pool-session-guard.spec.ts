import type pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { PoolSessionGuard } from './pool-session-guard.js';

/** A guard that is connected already. */
function guardOf(query: (sql: string) => Promise<{ rows: object[] }>) {
  const end = vi.fn(async () => undefined);
  const warnings: string[] = [];
  const options = { url: 'postgres://server', schema: 'queue', warn: (message: string) => void warnings.push(message) };
  const guard = new PoolSessionGuard(options);
  Object.assign(guard, { client: { query, end } as unknown as pg.Client });
  return { guard, end, warnings };
}

describe('a guard of sessions of pools that is closed', () => {
  afterEach(() => void vi.useRealTimers());

  it('locks out nobody any more', async () => {
    const statements: string[] = [];
    let closed: Promise<void> | undefined;
    const { guard, end, warnings } = guardOf(async (sql) => {
      statements.push(sql);
      if (statements.length === 1) return { rows: [{ role: 'pool' }] };
      closed = guard.close();
      return { rows: Array.from({ length: 20 }, () => ({ role: 'pool', reason: 'others waited' })) };
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
