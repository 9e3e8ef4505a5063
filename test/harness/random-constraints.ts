import fc from 'fast-check';
import type { HostileConstraint } from './hostile-constraints.js';
import { anySchema } from './schema-arbitrary.js';
import { seededRandom } from './seeded-random.js';

const patternPieces =
  'a|b|.|[ab]|[^a]|[^]|\\d|\\s|\\w|(|)|(?:|(?=|(?!|)*|)+|)?|){2,}|){3,90}|*|+|?|{0,900}|{7}|^|$|||\\u{1f600}|x'.split(
    /(?<!\|)\|(?!\|)|(?<=\|\|)\|/,
  );
const ebnfPieces = [
  '"a"',
  '"b"',
  '[ab]',
  '[^"]',
  '.',
  '(',
  ')',
  ')*',
  ')+',
  '){2,50}',
  '|',
  '*',
  '?',
  'x',
  'y',
  '# x\n',
];
const larkPieces = ['"a"', '"b"i', '/[ab]+/', '"a".."z"', '(', ')', ')*', ')~2..50', '[', ']', '|', '?', 'x', 'y', 'T'];

/** Random constraints of all kinds, most of them with faults. The same seed gives the same. */
export function randomConstraints({ count, seed }: { count: number; seed: number }): HostileConstraint[] {
  const random = seededRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const joined = (pieces: readonly string[], between: string): string =>
    Array.from({ length: 1 + Math.floor(random() * 24) }, () => pick(pieces)).join(between);
  const schemas = fc.sample(anySchema, { seed, numRuns: count });
  return schemas.flatMap((schema, index): HostileConstraint[] => {
    const ebnf = `root ::= ${joined(ebnfPieces, ' ')}\nx ::= ${joined(ebnfPieces, ' ')}\ny ::= "y" ${joined(ebnfPieces, ' ')}`;
    const lark = `start: ${joined(larkPieces, ' ')}\nx: ${joined(larkPieces, ' ')}\ny: "y" x?\nT: ${joined(larkPieces.slice(0, 12), ' ')}`;
    const format = { syntax: 'lark', definition: lark } as const;
    const text = { type: 'json-string', format, param: 'tools' } as const;
    const regions = [{ type: 'bound' as const, branches: [{ text, next: null }] }];
    return [
      { name: `schema ${index}`, constraint: { type: 'json-schema', schema, param: 'schema' } },
      { name: `pattern ${index}`, constraint: { type: 'regex', pattern: joined(patternPieces, ''), param: 'pattern' } },
      { name: `EBNF ${index}`, constraint: { type: 'grammar', grammar: ebnf, param: 'grammar' } },
      { name: `Lark ${index}`, constraint: { type: 'regions', regions, param: 'tools' } },
    ];
  });
}
