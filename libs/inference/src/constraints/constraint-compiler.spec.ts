import { describe, expect, it } from 'vitest';
import { isAllowed } from '../sampling/token-constraint.js';
import { ConstraintCompiler, type ConstraintLimits } from './constraint-compiler.js';
import { buildTokenTrie } from './token-trie.js';

const trie = buildTokenTrie(
  [new Uint8Array(0), ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))],
  new Set([0]),
);
const compilerWith = (limits: Partial<ConstraintLimits> = {}) => new ConstraintCompiler(trie, limits);

/** The bytes that may come first, as text. */
async function firstOf(compiler: ConstraintCompiler, constraint: Parameters<ConstraintCompiler['compile']>[0]) {
  const allowed = (await compiler.compile(constraint)).newMatcher([0]).allowed();
  return Array.from({ length: 256 }, (_, byte) => byte)
    .filter((byte) => isAllowed(allowed, byte + 1))
    .map((byte) => String.fromCharCode(byte))
    .join('');
}

describe('ConstraintCompiler', () => {
  it('compiles objects, schemas and patterns', async () => {
    const compiler = compilerWith();
    expect(await firstOf(compiler, { type: 'json-object', param: 'p' })).toBe('\n\r {');
    expect(await firstOf(compiler, { type: 'json-schema', schema: { type: 'boolean' }, param: 'p' })).toBe('\n\r ft');
    expect(await firstOf(compiler, { type: 'regex', pattern: 'a|b+', param: 'p' })).toBe('ab');
    expect(await firstOf(compiler, { type: 'grammar', grammar: 'root ::= [x-z] root?', param: 'p' })).toBe('xyz');
  });

  it('refuses by pointer and reason, in the name of the field', async () => {
    const refused = compilerWith().compile({
      type: 'json-schema',
      schema: { items: { not: {} } },
      param: 'format.schema',
    });
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'format.schema',
      message: 'The schema is not supported at #/items/not: this keyword is not supported.',
    });
    await expect(
      compilerWith().compile({ type: 'grammar', grammar: 'root ::= root "a"', param: 'response_format.grammar' }),
    ).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'response_format.grammar',
      message: 'The grammar is not supported at the rule root: begins with itself (left recursion).',
    });
    const long = compilerWith({ maxLength: 20 }).compile({
      type: 'json-schema',
      schema: { title: 'x'.repeat(30) },
      param: 'p',
    });
    await expect(long).rejects.toMatchObject({ message: 'The schema is not supported: is longer than 20 characters.' });
  });

  it('lets the event loop turn while it works, and gives up at its budget with the place it has reached', async () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `name${index}`);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string', pattern: `^${name}.{1,9}$` }])),
    };
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    await compilerWith({ budgetMs: 60_000 }).compile({ type: 'json-schema', schema, param: 'p' });
    isDone = true;
    expect(turns).toBeGreaterThan(5);
    await expect(
      compilerWith({ budgetMs: 1 }).compile({ type: 'json-schema', schema, param: 'p' }),
    ).rejects.toMatchObject({
      message: expect.stringMatching(/^The schema is not supported at #.*: compiling takes too long\.$/),
    });
  });

  it('compiles what is asked for twice once, and forgets what failed', async () => {
    const compiler = compilerWith();
    const ask = () => compiler.compile({ type: 'json-schema', schema: { type: 'array' }, param: 'p' });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(first.newMatcher([]).allowed().bits).toBe(second.newMatcher([]).allowed().bits);
    for (let round = 0; round < 2; round++) {
      await expect(compiler.compile({ type: 'regex', pattern: '(', param: 'p' })).rejects.toThrow('not supported');
    }
  });

  it('refuses what no token of the vocabulary can begin', async () => {
    const poor = new ConstraintCompiler(buildTokenTrie([new Uint8Array(0), Uint8Array.of(65)], new Set([0])));
    await expect(poor.compile({ type: 'json-object', param: 'p' })).rejects.toThrow(
      'no token of this model begins such a text',
    );
  });
});
