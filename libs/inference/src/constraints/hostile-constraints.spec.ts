import { describe, expect, it } from 'vitest';
import { hostileConstraints } from '#test/hostile-constraints';
import { runHostileConstraint } from '#test/hostile-run';
import { randomConstraints } from '#test/random-constraints';
import { wordTrie } from '#test/word-trie';

/* The long form, with larger constraints and random ones: `npm test -- hostile`. */

const trie = wordTrie(4_000);

describe('a hostile constraint', () => {
  it.each(hostileConstraints(0.4))('keeps the event loop turning and the heap small: $name', async (hostile) => {
    const { faults } = await runHostileConstraint(trie, hostile);
    expect(faults).toEqual([]);
  });

  it('keeps it turning, and fails in no other way, whatever it is', async () => {
    const faults: string[] = [];
    for (const random of randomConstraints({ count: 60, seed: 11 })) {
      const result = await runHostileConstraint(trie, random, 5);
      faults.push(...result.faults.map((fault) => `${result.name}: ${fault}`));
    }
    expect(faults).toEqual([]);
  });

  it.each([
    ['minProperties of a closed object', 'The schema is not supported at #: no value satisfies the schema.'],
    ['minProperties above the members', 'The schema is not supported at #: no value satisfies the schema.'],
    ['oneOf of constants', null],
    ['oneOf of ranges', null],
    ['wide enum of numbers', null],
    ['EBNF: comments without an end', null],
  ])('is refused for its reason, or not: %s', async (name, refusal) => {
    const hostile = hostileConstraints(0.2).find((constraint) => constraint.name === name);
    expect(hostile).toBeDefined();
    if (hostile) expect(await runHostileConstraint(trie, hostile, 0)).toMatchObject({ refusal });
  });
});
