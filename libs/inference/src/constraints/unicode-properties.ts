import { checkDeadline } from './compile-deadline.js';
import { type CodePointSet, unite } from './code-points.js';

/** Stretches of code points that hold characters, without surrogates. */
const assigned: CodePointSet = [
  [0, 0xd7ff],
  [0xe000, 0x3ffff],
  [0xe0000, 0xeffff],
];

/** All others: of each plane, code points without a character, or for private use, and two that are never characters. */
const uniform: CodePointSet = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16].flatMap((plane) => [
  [plane * 0x10000, plane * 0x10000 + 0xfffd] as const,
  [plane * 0x10000 + 0xfffe, plane * 0x10000 + 0xffff] as const,
]);

/** Code points looked at at once. */
const blockSize = 0x1000;

const propertyName = /^[A-Za-z0-9_]{1,50}(?:=[A-Za-z0-9_]{1,50})?$/;

/** Those found so far: no more than there are names of properties. */
const known = new Map<string, CodePointSet>();

/** The code points with a Unicode property, such as `Lu` or `Script=Greek`, as this engine knows it; null: it knows none. */
export function codePointsWith(property: string): CodePointSet | null {
  const found = known.get(property);
  if (found !== undefined) return found;
  if (!propertyName.test(property)) return null;
  let expression: RegExp;
  try {
    expression = new RegExp(`\\p{${property}}+`, 'gu');
  } catch {
    return null;
  }
  const set = unite([...rangesOf(expression)]);
  known.set(property, set);
  return set;
}

function* rangesOf(expression: RegExp): Generator<readonly [number, number]> {
  for (const [first, last] of uniform) if (String.fromCodePoint(first).match(expression)) yield [first, last];
  for (const [first, last] of assigned) {
    for (let from = first; from <= last; from += blockSize) {
      checkDeadline(blockSize / 16);
      const length = Math.min(blockSize, last + 1 - from);
      const text = String.fromCodePoint(...Array.from({ length }, (_, index) => from + index));
      for (const { 0: match } of text.matchAll(expression)) {
        const end = match.length > 1 ? match.codePointAt(match.length - 2) : match.codePointAt(0);
        const unit = match.charCodeAt(match.length - 1);
        yield [match.codePointAt(0) ?? 0, unit >= 0xdc00 && unit <= 0xdfff ? (end ?? 0) : unit];
      }
    }
  }
}
