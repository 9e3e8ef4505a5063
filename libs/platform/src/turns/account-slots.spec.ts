import { describe, expect, it } from 'vitest';
import { AccountSlots } from './account-slots.js';

const limits = {
  slots: 2,
  slotsPerOwner: 1,
  maxWaiting: 3,
  maxWaitingPerOwner: 2,
  maxWaitMs: 60_000,
  work: 'files are being read',
};

/** Work that ends when it is told to; records when it starts. */
function pieces(slots: AccountSlots) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (owner: string, name: string, signal?: AbortSignal): Promise<void> =>
    slots.run(
      owner,
      () => {
        started.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      },
      signal,
    );
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, run, end };
}

describe('AccountSlots', () => {
  it('never gives all slots to one owner, and serves owners in turn', async () => {
    const { started, run, end } = pieces(new AccountSlots(limits));
    const all = [run('a', 'a1'), run('a', 'a2'), run('b', 'b1'), run('b', 'b2'), run('c', 'c1')];
    expect(started).toEqual(['a1', 'b1']);
    await end('b1');
    expect(started).toEqual(['a1', 'b1', 'b2']);
    await end('a1');
    expect(started).toEqual(['a1', 'b1', 'b2', 'a2']);
    await end('b2');
    expect(started.at(-1)).toBe('c1');
    await end('a2');
    await end('c1');
    await Promise.all(all);
  });

  it('give several slots to one owner only while no other waits', async () => {
    const { started, run, end } = pieces(
      new AccountSlots({ ...limits, slotsPerOwner: 2, maxWaiting: 9, maxWaitingPerOwner: 8 }),
    );
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('a', 'a4'), run('b', 'b1'), run('b', 'b2')];
    expect(started).toEqual(['a1', 'a2']);
    await end('a1');
    expect(started.at(-1)).toBe('b1');
    await end('a2');
    expect(started.at(-1)).toBe('a3');
    await end('b1');
    expect(started.at(-1)).toBe('b2');
    for (const name of ['a3', 'b2']) await end(name);
    expect(started.at(-1)).toBe('a4');
    await end('a4');
    await Promise.all(all);
  });

  it('refuses what would wait too long in line', async () => {
    const { run, end } = pieces(new AccountSlots(limits));
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3')];
    await expect(run('a', 'a4')).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    all.push(run('b', 'b1'), run('b', 'b2'));
    await expect(run('c', 'c1')).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) await end(name);
    await Promise.all(all);
  });

  it('refuses what waited too long, and starts the next', async () => {
    const { run, end, started } = pieces(new AccountSlots({ ...limits, slots: 1, maxWaitMs: 5 }));
    const first = run('a', 'a1');
    await expect(run('b', 'b1')).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    await end('a1');
    await first;
    expect(started).toEqual(['a1']);
  });

  it('forgets work whose client disconnected', async () => {
    const { run, end, started } = pieces(new AccountSlots(limits));
    const disconnection = new AbortController();
    const first = run('a', 'a1');
    const second = run('a', 'a2', disconnection.signal);
    const third = run('a', 'a3');
    disconnection.abort();
    await expect(second).rejects.toThrow();
    await end('a1');
    expect(started).toEqual(['a1', 'a3']);
    await end('a3');
    await Promise.all([first, third]);
  });

  it('frees the slot of work that fails', async () => {
    const slots = new AccountSlots({ ...limits, slots: 1 });
    await expect(slots.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await slots.run('a', () => Promise.resolve(7))).toBe(7);
  });
});
