import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SumTurns } from './sum-turns.js';

describe('aggregation slots', () => {
  let turns: SumTurns;
  let begun: string[];
  let ends: Map<string, () => void>;

  beforeEach(() => {
    vi.useFakeTimers();
    turns = new SumTurns({ maxAtOnce: 2, waitMs: 8_000 });
    begun = [];
    ends = new Map();
  });

  afterEach(() => void vi.useRealTimers());

  /** An aggregation of the account that its first letter names. */
  function ask(name: string): Promise<string> {
    return turns.run(name.slice(0, 1), async () => {
      begun.push(name);
      await new Promise<void>((resolve) => void ends.set(name, resolve));
      return name;
    });
  }

  async function end(name: string): Promise<void> {
    ends.get(name)?.();
    await vi.advanceTimersByTimeAsync(0);
  }

  it('run two at once, the others in the order of arrival', async () => {
    const answers = Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => ask(name)));
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    for (const name of ['c', 'd', 'e']) await end(name);
    expect(await answers).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('run one per account, so that no account waits for the many ranges of another', async () => {
    const answers = Promise.all(['a1', 'a2', 'a3', 'b1'].map((name) => ask(name)));
    await vi.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(['a1', 'b1']);
    await end('b1');
    expect(begun).toEqual(['a1', 'b1']);
    for (const name of ['a1', 'a2', 'a3']) await end(name);
    expect(begun).toEqual(['a1', 'b1', 'a2', 'a3']);
    await answers;
  });

  it('are awaited for a limited time, and an abandoned one takes no slot', async () => {
    const first = ask('a1');
    const late = ask('a2').catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(4_000);
    const last = ask('a3');
    await vi.advanceTimersByTimeAsync(4_000);
    expect(await late).toMatchObject({ code: 'REQUEST_TIMEOUT', retry: { afterSeconds: 5 } });
    await end('a1');
    expect(begun).toEqual(['a1', 'a3']);
    await end('a3');
    expect(await Promise.all([first, last])).toEqual(['a1', 'a3']);
  });

  it('continue after an aggregation failed', async () => {
    const failed = turns.run('a', () => Promise.reject(new Error('no'))).catch((error: unknown) => error);
    const next = ask('a');
    expect(await failed).toMatchObject({ message: 'no' });
    await vi.advanceTimersByTimeAsync(0);
    await end('a');
    expect(await next).toBe('a');
  });
});
