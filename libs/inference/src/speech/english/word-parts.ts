import type { PronunciationDictionary } from './pronunciation-dictionary.js';

type Find = (word: string) => string[] | null;

const voiceless = new Set(['P', 'T', 'K', 'F', 'TH']);
const sibilant = new Set(['S', 'Z', 'SH', 'ZH', 'CH', 'JH']);

/** Adds the sound of a written `s`: `cats`, `dogs`, `boxes`. */
export function withPlural(phones: readonly string[]): string[] {
  const last = phones.at(-1) ?? '';
  if (sibilant.has(last)) return [...phones, 'IH0', 'Z'];
  return [...phones, voiceless.has(last) ? 'S' : 'Z'];
}

function withPast(phones: readonly string[]): string[] {
  const last = phones.at(-1) ?? '';
  if (last === 'T' || last === 'D') return [...phones, 'IH0', 'D'];
  return [
    ...phones,
    voiceless.has(last) || (sibilant.has(last) && last !== 'Z' && last !== 'ZH' && last !== 'JH') ? 'T' : 'D',
  ];
}

const contractions: Readonly<Record<string, readonly string[]>> = {
  "n't": ['AH0', 'N', 'T'],
  "'ll": ['AH0', 'L'],
  "'ve": ['V'],
  "'re": ['ER0'],
  "'d": ['D'],
  "'m": ['M'],
};

/** `Sluice's`, `the dogs'`, `who'd've`: the word before the apostrophe plus its ending. */
export function contraction(word: string, find: Find): string[] | null {
  if (word.endsWith("s'")) return find(word.slice(0, -1));
  const possessive = /^(.+)'s$/u.exec(word)?.[1];
  if (possessive !== undefined) {
    const base = find(possessive);
    return base && withPlural(base);
  }
  const [, base, ending] = /^(.+?)(n't|'(?:ll|ve|re|d|m))$/u.exec(word) ?? [];
  if (base === undefined || ending === undefined) return null;
  const phones = find(base);
  return phones && [...phones, ...(contractions[ending] ?? [])];
}

/**
 * Returns candidate stems of a suffixed word: unchanged, with the dropped `e`, without the doubled letter, with `y` for
 * `i`.
 */
function stems(base: string): string[] {
  const found = [base, `${base}e`];
  if (/([b-df-hj-np-tv-z])\1$/u.test(base)) found.push(base.slice(0, -1));
  if (base.endsWith('i')) found.push(`${base.slice(0, -1)}y`);
  return found;
}

interface Suffix {
  ending: RegExp;
  attach: (phones: readonly string[]) => string[];
}

function plain(...phones: string[]): Suffix['attach'] {
  return (stem) => [...stem, ...phones];
}

const suffixes: readonly Suffix[] = [
  { ending: /(?<=ie|[^s])s$/u, attach: withPlural },
  { ending: /es$/u, attach: withPlural },
  { ending: /ed$/u, attach: withPast },
  { ending: /ing$/u, attach: plain('IH0', 'NG') },
  { ending: /ings$/u, attach: plain('IH0', 'NG', 'Z') },
  { ending: /er$/u, attach: plain('ER0') },
  { ending: /ers$/u, attach: plain('ER0', 'Z') },
  { ending: /est$/u, attach: plain('AH0', 'S', 'T') },
  { ending: /ly$/u, attach: plain('L', 'IY0') },
  { ending: /y$/u, attach: plain('IY0') },
  { ending: /ness$/u, attach: plain('N', 'AH0', 'S') },
  { ending: /less$/u, attach: plain('L', 'AH0', 'S') },
  { ending: /ful$/u, attach: plain('F', 'AH0', 'L') },
  { ending: /able$/u, attach: plain('AH0', 'B', 'AH0', 'L') },
  { ending: /ment$/u, attach: plain('M', 'AH0', 'N', 'T') },
  { ending: /ish$/u, attach: plain('IH0', 'SH') },
  { ending: /ism$/u, attach: plain('IH2', 'Z', 'AH0', 'M') },
  { ending: /ist$/u, attach: plain('IH0', 'S', 'T') },
  { ending: /ize$/u, attach: plain('AY2', 'Z') },
  { ending: /ized$/u, attach: plain('AY2', 'Z', 'D') },
  { ending: /izing$/u, attach: plain('AY2', 'Z', 'IH0', 'NG') },
];

const prefixes: Readonly<Record<string, readonly string[]>> = {
  un: ['AH0', 'N'],
  re: ['R', 'IY0'],
  pre: ['P', 'R', 'IY0'],
  non: ['N', 'AA2', 'N'],
  over: ['OW1', 'V', 'ER0'],
  under: ['AH1', 'N', 'D', 'ER0'],
  mis: ['M', 'IH0', 'S'],
  dis: ['D', 'IH0', 'S'],
  anti: ['AE2', 'N', 'T', 'AY2'],
  multi: ['M', 'AH1', 'L', 'T', 'IY0'],
  micro: ['M', 'AY1', 'K', 'R', 'OW0'],
  super: ['S', 'UW1', 'P', 'ER0'],
  inter: ['IH2', 'N', 'T', 'ER0'],
  auto: ['AO2', 'T', 'OW0'],
  cyber: ['S', 'AY1', 'B', 'ER0'],
  pseudo: ['S', 'UW2', 'D', 'OW0'],
};

/** Returns the phones of an inflected, derived or compound word with known parts; null for others. */
export function fromParts(word: string, dictionary: PronunciationDictionary): string[] | null {
  const find: Find = (part) => (part.length >= 3 ? dictionary.find(part) : null);
  return inflected(word, find) ?? prefixed(word, find) ?? compound(word, find);
}

function inflected(word: string, find: Find): string[] | null {
  for (const { ending, attach } of suffixes) {
    const match = ending.exec(word);
    if (match === null) continue;
    for (const stem of stems(word.slice(0, match.index))) {
      const phones = find(stem);
      if (phones !== null) return attach(phones);
    }
  }
  return null;
}

function prefixed(word: string, find: Find): string[] | null {
  for (const [prefix, phones] of Object.entries(prefixes)) {
    if (!word.startsWith(prefix)) continue;
    const rest = word.slice(prefix.length);
    const stem = rest.length >= 4 ? (find(rest) ?? inflected(rest, find)) : null;
    if (stem !== null) return [...phones, ...stem];
  }
  return null;
}

/**
 * Splits a compound into two known words of at least four letters, preferring a long first part. The second gets
 * secondary stress.
 */
function compound(word: string, find: Find): string[] | null {
  for (let cut = word.length - 4; cut >= 4; cut -= 1) {
    const first = find(word.slice(0, cut));
    const second = first && (find(word.slice(cut)) ?? inflected(word.slice(cut), find));
    if (first && second) return [...first, ...second.map((phone) => phone.replace('1', '2'))];
  }
  return null;
}
