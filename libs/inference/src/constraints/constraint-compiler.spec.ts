import { afterEach, describe, expect, it, vi } from 'vitest';
import { seededRandom } from '#test/seeded-random';
import { isAllowed } from '../sampling/token-constraint.js';
import type { OutputConstraint } from '../contract/output-constraint.js';
import type { TextPart } from '../contract/output-region.js';
import { Automaton } from './automaton.js';
import { ConstraintCompiler, type ConstraintLimits } from './constraint-compiler.js';
import { buildTokenTrie } from './token-trie.js';
import { WorkTimer } from './work-timer.js';

const trie = buildTokenTrie(
  [new Uint8Array(0), ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte))],
  new Set([0]),
);
const compilerWith = (limits: Partial<ConstraintLimits> = {}) => new ConstraintCompiler(trie, limits);

/** Tools whose inputs follow Lark grammars. */
const larkTool = (...definitions: string[]): OutputConstraint => {
  const parts = definitions.map((definition, index): TextPart => {
    const format = { syntax: 'lark', definition } as const;
    return { type: 'json-string', format, param: `tools[${index}].format.definition` };
  });
  const text: TextPart = { type: 'choice', parts };
  return { type: 'regions', regions: [{ type: 'bound', branches: [{ text, next: null }] }], param: 'tools' };
};
/** Each slice ends with its first look at the clock. */
const tinySlices = { sliceMs: Number.MIN_VALUE };
/** Rules of which each may be empty or go on with the next: a state has hundreds of thousands of ways to begin. */
const slowToOpen = `${Array.from({ length: 900 }, (_, index) => `r${index}`).join(' ')}
${Array.from({ length: 900 }, (_, index) => `r${index}: r${index + 1}?`).join('\n')}
r900: "y"?`;
const repeated = (item: string, count: number): string => Array.from({ length: count }, () => item).join('|');

/** The bytes that may come first, as text. */
async function firstOf(compiler: ConstraintCompiler, constraint: Parameters<ConstraintCompiler['compile']>[0]) {
  const allowed = (await compiler.compile(constraint)).newMatcher([0]).allowed();
  return Array.from({ length: 256 }, (_, byte) => byte)
    .filter((byte) => isAllowed(allowed, byte + 1))
    .map((byte) => String.fromCharCode(byte))
    .join('');
}

describe('ConstraintCompiler', () => {
  afterEach(() => vi.restoreAllMocks());

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
      schema: { items: { unevaluatedItems: false } },
      param: 'format.schema',
    });
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'format.schema',
      message: 'The schema is not supported at #/items/unevaluatedItems: this keyword is not supported.',
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

  describe('names what it leaves out of schemas that are not strict', () => {
    const schema = { properties: { a: { pattern: '(a)\\1' }, b: { unevaluatedItems: false } } };
    const relaxed = (param: string) => [
      { param, pointer: '/properties/a/pattern', reason: expect.stringContaining('back reference') as string },
    ];

    it('but not what was named before the job, in the field of each request', async () => {
      const compiler = compilerWith();
      for (const param of ['response_format', 'text.format']) {
        const { relaxed: named } = await compiler.compile({ type: 'json-schema', schema, param, isStrict: false });
        expect(named).toEqual(relaxed(param));
      }
      await expect(
        compiler.compile({ type: 'json-schema', schema: schema.properties.a, param: 'p', isStrict: true }),
      ).rejects.toMatchObject({ message: expect.stringContaining('#/pattern') as string, param: 'p' });
    });

    it('in each of several tools, once', async () => {
      const part = (param: string): TextPart => ({ type: 'json-schema', schema, param, isStrict: false });
      const text: TextPart = { type: 'choice', parts: [part('tools[0]'), part('tools[1]'), part('tools[0]')] };
      const region = { type: 'bound' as const, branches: [{ text, next: null }] };
      const compiled = await compilerWith().compile({ type: 'regions', regions: [region, region], param: 'tools' });
      expect(compiled.relaxed).toEqual([...relaxed('tools[0]'), ...relaxed('tools[1]')]);
    });

    it('up to a number, and with pointers up to a length', async () => {
      const name = 'x'.repeat(5_000);
      const properties = Object.fromEntries(
        Array.from({ length: 100 }, (_, index) => [`${name}${index}`, { pattern: '(a)\\1' }]),
      );
      const many = { properties: { ...properties, b: { items: { pattern: '(a)\\1' } }, a: { pattern: '(b)\\1' } } };
      const compiled = await compilerWith().compile({ type: 'json-schema', schema: many, param: 'p', isStrict: false });
      expect(JSON.stringify(compiled.relaxed).length).toBeLessThan(30_000);
      expect(compiled.relaxed.map(({ pointer }) => pointer)).toContain('/properties/a/pattern');
    });
  });

  it('lets the event loop turn while it works, and gives up at its budget with the place it has reached', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `name${index}`);
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

  it('runs one slice per turn of the event loop, however many compile at once', async () => {
    const objects = 20;
    const schemas = Array.from({ length: 8 }, (_, index) => ({
      properties: Object.fromEntries(
        Array.from({ length: objects }, (_value, member) => [`m${member}`, { minProperties: 0, title: `${index}` }]),
      ),
    }));
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    // Each slice ends with its first step, and each object takes a step.
    const compiler = compilerWith({ budgetMs: 60_000, sliceMs: Number.MIN_VALUE });
    await Promise.all(schemas.map((schema) => compiler.compile({ type: 'json-schema', schema, param: 'p' })));
    isDone = true;
    expect(turns).toBeGreaterThan(schemas.length * objects);
  });

  it('compiles what is asked for twice once', async () => {
    const compiler = compilerWith();
    const ask = () => compiler.compile({ type: 'json-schema', schema: { type: 'array' }, param: 'p' });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(first.newMatcher([]).allowed().bits).toBe(second.newMatcher([]).allowed().bits);
  });

  it('remembers what it refused, for a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const compiler = compilerWith();
    /** True if the compiler worked for it: it begins behind a turn of the event loop. */
    const works = async (param: string): Promise<boolean> => {
      let hasTurned = false;
      setImmediate(() => (hasTurned = true));
      const refused = compiler.compile({ type: 'json-schema', schema: { unevaluatedItems: false }, param });
      await expect(refused).rejects.toMatchObject({ param, message: expect.stringContaining('at #/unevaluatedItems') });
      return hasTurned;
    };
    expect([await works('a'), await works('b')]).toEqual([true, false]);
    vi.advanceTimersByTime(60_001);
    expect(await works('a')).toBe(true);
    vi.useRealTimers();
  });

  it('follows references that double at every level once each', async () => {
    const levels = Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/d${level + 1}` };
      return [`d${level}`, { allOf: [next, next, { maxLength: 100 - level }] }] as const;
    });
    const $defs = Object.fromEntries([...levels, ['d40', { type: 'string' }]]);
    const schema = { $ref: '#/$defs/d0', $defs };
    expect(await firstOf(compilerWith(), { type: 'json-schema', schema, param: 'p' })).toBe('\n\r "');
  });

  it('gives up at its budget within a single step', async () => {
    const schemas = [
      { enum: Array.from({ length: 20_000 }, (_, index) => `value ${index}`) },
      { type: 'string', pattern: `^(${Array.from({ length: 300 }, (_, index) => `word${index}`).join('|')})$` },
    ];
    for (const schema of schemas) {
      const compiled = compilerWith({ budgetMs: 0 }).compile({ type: 'json-schema', schema, param: 'p' });
      await expect(compiled).rejects.toMatchObject({
        message: expect.stringMatching(/^The schema is not supported at #.*: compiling takes too long\.$/),
      });
    }
    const grammar = `start: A\nA: ${repeated('"a"', 2_000)}`;
    await expect(compilerWith({ budgetMs: 0 }).compile(larkTool(grammar))).rejects.toMatchObject({
      param: 'tools[0].format.definition',
      message: expect.stringMatching(/^The grammar is not supported( at line \d)?: compiling takes too long\.$/),
    });
  });

  it('names the tool whose definition it has reached at the end of its budget', async () => {
    let looks = 0;
    vi.spyOn(WorkTimer.prototype, 'exceeds').mockImplementation(() => ++looks > 16);
    const compiled = compilerWith().compile(larkTool('start: "a"\nA: "b"', `start: A\nA: "${'a'.repeat(20_000)}"`));
    await expect(compiled).rejects.toMatchObject({
      param: 'tools[1].format.definition',
      message: expect.stringMatching(/^The grammar is not supported at line \d: compiling takes too long\.$/),
    });
  });

  it('refuses too many states in the name of their field, and remembers it', async () => {
    const size = vi.spyOn(Automaton.prototype, 'size', 'get').mockReturnValue(600_000);
    const compiler = compilerWith();
    const tool = larkTool('start: a~1000\na: b~1000\nb: "x"?');
    const refusal = {
      param: 'tools[0].format.definition',
      message: 'The grammar is not supported: it leads to too many states.',
    };
    await expect(compiler.compile(tool)).rejects.toMatchObject(refusal);
    size.mockRestore();
    await expect(compiler.compile(tool)).rejects.toMatchObject(refusal);
  });

  it('gives up at its budget while it opens the first state', async () => {
    const open = vi.spyOn(Automaton, 'open');
    vi.spyOn(WorkTimer.prototype, 'exceeds').mockImplementation(() => open.mock.calls.length > 0);
    await expect(compilerWith(tinySlices).compile(larkTool(`start: ${slowToOpen}`))).rejects.toMatchObject({
      param: 'tools[0].format.definition',
      message: 'The grammar is not supported: compiling takes too long.',
    });
  });

  it('fails the sequence whose next state takes too long to open', async () => {
    const compiled = await compilerWith().compile(larkTool(`start: "x" ${slowToOpen}`));
    const matcher = compiled.newMatcher([0]);
    const accept = (text: string): void => matcher.accept(text.charCodeAt(0) + 1);
    accept('"');
    let now = performance.now();
    // A second between any two looks at the clock.
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    vi.spyOn(WorkTimer.prototype, 'exceeds').mockReturnValue(true);
    expect(() => accept('x')).toThrow('The schema is too large for this output: compiling takes too long.');
  });

  it.each([
    ['a literal', `start: ${repeated('A"b"', 2_000)}\nA: "${'a'.repeat(1_000)}"`],
    [
      'alternatives',
      `start: ${repeated('A', 4_000)}\nA: ${Array.from({ length: 1_000 }, (_, at) => `"${at}"`).join('|')}`,
    ],
  ])('gives up at its budget while it joins %s that it has again and again', async (_name, definition) => {
    let looks = 0;
    // Enough for what is new in the grammar, a small part of all that it joins.
    vi.spyOn(WorkTimer.prototype, 'exceeds').mockImplementation(() => ++looks > 200);
    await expect(compilerWith(tinySlices).compile(larkTool(definition))).rejects.toThrow('compiling takes too long');
  });

  it('compiles nothing new for a caller whose refused constraints took too long, and goes on for others', async () => {
    vi.spyOn(WorkTimer.prototype, 'ms', 'get').mockReturnValue(1_500);
    const compiler = compilerWith({ budgetMs: 60_000 });
    const schemaOf = (schema: unknown): OutputConstraint => ({ type: 'json-schema', schema, param: 'p' });
    const refused = (index: number): OutputConstraint => schemaOf({ not: { const: [index] } });
    const valid = schemaOf({ type: 'boolean' });
    await compiler.compile(valid, 'a');
    await expect(compiler.compile(refused(0), 'a')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    // Each slice counts as a second and a half.
    await compiler.compile(refused(1), 'a').catch(() => undefined);
    await expect(compiler.compile(refused(2), 'a')).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await expect(compiler.compile(schemaOf({ type: 'null' }), 'a')).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
    });
    // What is compiled takes no time any more, and what was refused none again.
    await compiler.compile(valid, 'a');
    await expect(compiler.compile(refused(0), 'a')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await compiler.compile(schemaOf({ type: 'null' }), 'b');
  });

  it('bounds the memory of all constraints and their masks, and shares those used last', async () => {
    const maxKeptBytes = 3 * 2 ** 20;
    const compiler = compilerWith({ maxKeptBytes });
    const schemaOf = (index: number) => ({
      type: 'object',
      properties: { [`name${index}`]: { type: 'string', minLength: 40 } },
      required: [`name${index}`],
    });
    const compile = (index: number) => compiler.compile({ type: 'json-schema', schema: schemaOf(index), param: 'p' });
    const first = await compile(0);
    const firstBits = first.newMatcher([0]).allowed().bits;
    let largest = 0;
    for (let index = 1; index <= 120; index++) {
      const matcher = (await compile(index)).newMatcher([0]);
      for (const byte of Buffer.from(`{"name${index}":"some text of forty characters`)) {
        matcher.allowed();
        matcher.accept(byte + 1);
      }
      largest = Math.max(largest, compiler.keptBytes);
    }
    // States are made between two masks too.
    expect(largest).toBeLessThanOrEqual(maxKeptBytes * 1.1);
    // Not so low that nothing is kept.
    expect(compiler.keptBytes).toBeGreaterThan(maxKeptBytes / 4);
    const [last, lastAgain] = [await compile(120), await compile(120)];
    expect(last.newMatcher([0]).allowed().bits).toBe(lastAgain.newMatcher([0]).allowed().bits);
    expect((await compile(0)).newMatcher([0]).allowed().bits).not.toBe(firstBits);
    // What a running request holds still works.
    expect(first.newMatcher([0]).allowed().bits).toEqual(firstBits);
  });

  it('bounds the memory of running requests: what takes more than its share stops growing', async () => {
    const maxBytes = 2 * 2 ** 20;
    const compiler = compilerWith({ maxKept: 1, maxKeptBytes: 2 ** 19, maxBytes });
    // Each of its texts leads to states of its own.
    const heavy = async (index: number) => {
      const compiled = await compiler.compile({ type: 'regex', pattern: `.*a.{${100 + index}}`, param: 'p' });
      return { matcher: compiled.newMatcher([0]), release: compiled.use() };
    };
    const everyday = await compiler.compile({ type: 'json-object', param: 'p' });
    const small = everyday.newMatcher([0]);
    const releaseSmall = everyday.use();
    const write = (matcher: typeof small, text: string): void => {
      for (const byte of Buffer.from(text)) {
        matcher.allowed();
        matcher.accept(byte + 1);
      }
    };
    const random = seededRandom(3);
    const grow = ({ matcher }: { matcher: typeof small }, steps: number): void =>
      write(matcher, Array.from({ length: steps }, () => (random() < 0.5 ? 'a' : 'b')).join(''));
    const running = [await heavy(0), await heavy(1), await heavy(2)];
    const failed = new Set<number>();
    let largest = 0;
    for (let round = 0; round < 400 && failed.size < 3; round++) {
      for (const [index, each] of running.entries()) {
        if (failed.has(index)) continue;
        try {
          grow(each, 5);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringContaining('more states') });
          failed.add(index);
        }
        largest = Math.max(largest, compiler.heldBytes);
      }
    }
    expect(failed.size).toBe(3);
    expect(largest).toBeLessThan(2 * maxBytes);
    write(small, '{"a":"what others do not notice","b":[1,2.5,{"c":null}]}');
    expect(small.isFinished()).toBe(true);
    for (const { release } of running) {
      release();
      release();
    }
    releaseSmall();
    await compiler.compile({ type: 'json-object', param: 'p' });
    expect(compiler.heldBytes).toBeLessThan(maxBytes / 2);
    grow(await heavy(3), 20);
  });

  it('refuses what no token of the vocabulary can begin', async () => {
    const poor = new ConstraintCompiler(buildTokenTrie([new Uint8Array(0), Uint8Array.of(65)], new Set([0])));
    await expect(poor.compile({ type: 'json-object', param: 'p' })).rejects.toThrow(
      'no token of this model begins such a text',
    );
  });
});
