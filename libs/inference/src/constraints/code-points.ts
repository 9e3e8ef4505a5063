import type { Regex, RegexArena } from './regex.js';

/** A set of code points: ranges with both ends included, in order and apart from each other. */
export type CodePointSet = readonly (readonly [first: number, last: number])[];

export const lastCodePoint = 0x10ffff;

export const allCodePoints: CodePointSet = [[0, lastCodePoint]];

/** Code points that no UTF-8 text holds. */
const surrogates: CodePointSet = [[0xd800, 0xdfff]];

export function unite(...sets: readonly CodePointSet[]): CodePointSet {
  const ranges = sets.flat().sort(([left], [right]) => left - right);
  const united: [number, number][] = [];
  for (const [first, last] of ranges) {
    const previous = united.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else united.push([first, last]);
  }
  return united;
}

export function complement(set: CodePointSet): CodePointSet {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [first, last] of unite(set)) {
    if (first > next) rest.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= lastCodePoint) rest.push([next, lastCodePoint]);
  return rest;
}

export function subtract(from: CodePointSet, set: CodePointSet): CodePointSet {
  return complement(unite(complement(from), set));
}

/** First code point of each length in UTF-8. */
const lengthStarts = [0, 0x80, 0x800, 0x10000, lastCodePoint + 1];

/** How the characters of a pattern are written. */
export type CharacterWriter = (arena: RegexArena, set: CodePointSet) => Regex;

/** Asks `write` once for each set: long texts have few different characters. */
function remembering(name: string, write: CharacterWriter): CharacterWriter {
  return (arena, set) => arena.remembered(`${name} ${set.join()}`, () => write(arena, set));
}

/** The characters of a set as UTF-8. */
export const utf8Of = remembering('utf8', (arena, set) => {
  const parts: Regex[] = [];
  for (const [first, last] of subtract(set, surrogates)) {
    for (let length = 1; length <= 4; length++) {
      const from = Math.max(first, lengthStarts[length - 1] ?? 0);
      const to = Math.min(last, (lengthStarts[length] ?? 0) - 1);
      if (from <= to) parts.push(...sameLength(arena, encode(from), encode(to)));
    }
  }
  return arena.or(...parts);
});

function encode(codePoint: number): Uint8Array {
  return new TextEncoder().encode(String.fromCodePoint(codePoint));
}

/** Encodings of one length from `from` to `to`, split where the later bytes do not run through all of their values. */
function sameLength(arena: RegexArena, from: Uint8Array, to: Uint8Array): Regex[] {
  const [low = 0] = from;
  const [high = 0] = to;
  const [lowRest, highRest] = [from.subarray(1), to.subarray(1)];
  if (lowRest.length === 0) return [range(arena, low, high)];
  if (low === high) {
    return sameLength(arena, lowRest, highRest).map((rest) => arena.concat(arena.byte(low), rest));
  }
  const isLowFull = lowRest.every((byte) => byte === 0x80);
  const isHighFull = highRest.every((byte) => byte === 0xbf);
  const parts: Regex[] = [];
  if (!isLowFull) parts.push(...sameLength(arena, from, Uint8Array.of(low, ...lowRest.map(() => 0xbf))));
  const [first, last] = [isLowFull ? low : low + 1, isHighFull ? high : high - 1];
  if (first <= last) {
    const rest = Array.from(lowRest, () => range(arena, 0x80, 0xbf));
    parts.push(arena.concat(range(arena, first, last), ...rest));
  }
  if (!isHighFull) parts.push(...sameLength(arena, Uint8Array.of(high, ...highRest.map(() => 0x80)), to));
  return parts;
}

function range(arena: RegexArena, low: number, high: number): Regex {
  return arena.byteRange(low, high);
}

const mustBeEscaped: CodePointSet = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];

/** The characters of a set inside a JSON string, each in the one form that `JSON.stringify` gives it. */
export const jsonCharacters = remembering('json', (arena, set) => {
  const escaped: Regex[] = [];
  for (const [first, last] of mustBeEscaped) {
    for (let codePoint = first; codePoint <= last; codePoint++) {
      if (!set.some(([low, high]) => codePoint >= low && codePoint <= high)) continue;
      escaped.push(arena.text(JSON.stringify(String.fromCodePoint(codePoint)).slice(1, -1)));
    }
  }
  return arena.or(utf8Of(arena, subtract(set, mustBeEscaped)), ...escaped);
});
