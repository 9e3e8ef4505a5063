import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupCommit } from './group-commit.js';

interface Item {
  key: string;
  fails?: boolean;
  poison?: boolean;
}

/** Items processed together; a poisoned item fails its whole group. */
function recorder(groups: Item[][], pauseMs = 0) {
  return async (items: readonly Item[]): Promise<(string | Error)[]> => {
    groups.push([...items]);
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (items.some(({ poison }) => poison)) throw new Error('poisoned');
    return items.map(({ key, fails }) => (fails ? new Error(`no ${key}`) : `done ${key}`));
  };
}

const keyOf = ({ key }: Item): string => key;

describe('GroupCommit', () => {
  it('groups items that arrive together, and puts later ones into the next group', async () => {
    const groups: Item[][] = [];
    const commit = new GroupCommit(recorder(groups, 5), keyOf, { lanes: 1, max: 10 });
    const first = ['a', 'b'].map((key) => commit.add({ key }));
    await new Promise((resolve) => setTimeout(resolve, 1));
    const second = ['c', 'd', 'e'].map((key) => commit.add({ key }));
    expect(await Promise.all([...first, ...second])).toEqual(['done a', 'done b', 'done c', 'done d', 'done e']);
    expect(groups.map((group) => group.map(keyOf))).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('gives each item its own result or error, even where one fails them all', async () => {
    const item = fc.record({ key: fc.constantFrom(...'abcdefgh'), fails: fc.boolean(), poison: fc.boolean() });
    const options = fc.record({ lanes: fc.integer({ min: 1, max: 4 }), max: fc.integer({ min: 1, max: 6 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 30 }), options, async (items, limits) => {
        const groups: Item[][] = [];
        const commit = new GroupCommit(recorder(groups), keyOf, limits);
        const results = await Promise.allSettled(items.map((each) => commit.add(each)));
        const expected = items.map(({ key, fails, poison }) =>
          poison
            ? { status: 'rejected', reason: new Error('poisoned') }
            : fails
              ? { status: 'rejected', reason: new Error(`no ${key}`) }
              : { status: 'fulfilled', value: `done ${key}` },
        );
        expect(results).toEqual(expected);
        for (const group of groups) {
          expect(group.length).toBeLessThanOrEqual(limits.max);
          expect(new Set(group.map(keyOf)).size).toBe(group.length);
        }
      }),
    );
  });

  it('groups what arrives while a lane gathers, again and again', async () => {
    const groups: Item[][] = [];
    const commit = new GroupCommit(recorder(groups), keyOf, { lanes: 1, max: 2, gatherMs: 20 });
    const first = commit.add({ key: 'a' });
    await new Promise((resolve) => setImmediate(resolve));
    const others = ['b', 'c', 'd'].map((key) => commit.add({ key }));
    expect(await Promise.all([first, ...others])).toEqual(['done a', 'done b', 'done c', 'done d']);
    expect(groups.map((group) => group.map(keyOf))).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('starts nothing for items that waited longer than their limit, and retries none of them', async () => {
    const groups: Item[][] = [];
    const commit = new GroupCommit(recorder(groups, 60), keyOf, { lanes: 1, max: 10, maxWaitMs: 30 });
    const late = { message: 'Its turn did not come within 30 ms.' };
    const first = [{ key: 'a', poison: true }, { key: 'b' }].map((item) => commit.add(item));
    await new Promise((resolve) => setTimeout(resolve, 5));
    const second = commit.add({ key: 'c' });
    for (const promise of [...first, second]) await expect(promise).rejects.toMatchObject(late);
    expect(await commit.add({ key: 'd' })).toBe('done d');
    expect(groups.map((group) => group.map(keyOf))).toEqual([['a', 'b'], ['d']]);
  });

  it('runs no more groups at once than lanes', async () => {
    let running = 0;
    let max = 0;
    const work = async (items: readonly Item[]): Promise<string[]> => {
      running += 1;
      max = Math.max(max, running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running -= 1;
      return items.map(keyOf);
    };
    const commit = new GroupCommit(work, keyOf, { lanes: 3, max: 2 });
    await Promise.all(Array.from({ length: 40 }, (_, index) => commit.add({ key: String(index) })));
    expect(max).toBe(3);
  });
});
