/* English abbreviations and their spoken forms. Keys are in lower case and without the full stop. */

/** Titles and the like. A name follows, so their full stop never ends a sentence. */
const beforeNames: Readonly<Record<string, string>> = {
  mr: 'mister',
  mrs: 'missus',
  ms: 'miz',
  dr: 'doctor',
  prof: 'professor',
  rev: 'reverend',
  hon: 'honorable',
  gen: 'general',
  col: 'colonel',
  capt: 'captain',
  lt: 'lieutenant',
  sgt: 'sergeant',
  maj: 'major',
  cmdr: 'commander',
  gov: 'governor',
  sen: 'senator',
  rep: 'representative',
  pres: 'president',
  mt: 'mount',
  ft: 'fort',
};

/** Abbreviations that may also end a sentence. */
const words: Readonly<Record<string, string>> = {
  jr: 'junior',
  sr: 'senior',
  inc: 'incorporated',
  ltd: 'limited',
  corp: 'corporation',
  co: 'company',
  dept: 'department',
  univ: 'university',
  assn: 'association',
  ave: 'avenue',
  blvd: 'boulevard',
  rd: 'road',
  hwy: 'highway',
  apt: 'apartment',
  approx: 'approximately',
  vs: 'versus',
  etc: 'et cetera',
  est: 'established',
  tel: 'telephone',
  jan: 'january',
  feb: 'february',
  apr: 'april',
  jun: 'june',
  jul: 'july',
  aug: 'august',
  sep: 'september',
  sept: 'september',
  oct: 'october',
  nov: 'november',
  dec: 'december',
  mon: 'monday',
  tue: 'tuesday',
  tues: 'tuesday',
  wed: 'wednesday',
  thu: 'thursday',
  thur: 'thursday',
  thurs: 'thursday',
  fri: 'friday',
  sat: 'saturday',
  sun: 'sunday',
};

/** Abbreviations only before a number. */
const beforeNumbers: Readonly<Record<string, string>> = {
  No: 'number',
  Nos: 'numbers',
  Fig: 'figure',
  Vol: 'volume',
  Ch: 'chapter',
  Sec: 'section',
  Art: 'article',
  fig: 'figure',
  vol: 'volume',
  ch: 'chapter',
  p: 'page',
  pp: 'pages',
  sec: 'section',
  art: 'article',
};

const all = { ...beforeNames, ...words };
const anyWord = new RegExp(`(?<![\\w.'’-])(${Object.keys(all).join('|')})\\.(?!\\w)`, 'giu');
const numbered = new RegExp(`(?<![\\w.])(${Object.keys(beforeNumbers).join('|')})\\.\\s?(?=\\d)`, 'gu');

/** Returns true when a text ends with an abbreviation and its full stop, and `after` continues the sentence. */
export function endsWithAbbreviation(text: string, after: string): boolean {
  if (!text.endsWith('.')) return false;
  const written =
    text
      .slice(0, -1)
      .split(/[^\p{L}.]/u)
      .at(-1) ?? '';
  const word = written.toLowerCase();
  if (Object.hasOwn(beforeNames, word) || word === 'st') return true;
  if (/^\d/u.test(after)) return Object.hasOwn(beforeNumbers, written) || Object.hasOwn(words, word);
  return word === 'e.g' || word === 'i.e' || word === 'vs';
}

/** Expands abbreviations. Words that are abbreviations only with a full stop are unchanged without it. */
export function expandAbbreviations(text: string): string {
  return (
    text
      .replaceAll(/(?<![\w.])e\.\s?g\.?(?!\w)/giu, 'for example')
      .replaceAll(/(?<![\w.])i\.\s?e\.?(?!\w)/giu, 'that is')
      .replaceAll(/#(?=\d)/gu, 'number ')
      .replaceAll(/\b[vV]\.?\s?(?=\d+\.\d)/gu, 'version ')
      .replaceAll(/(?<![\w.])w\/o(?!\w)/giu, 'without')
      .replaceAll(/(?<![\w.])w\/(?=\s)/giu, 'with')
      // "St." is "saint" before a name and "street" after one.
      .replaceAll(/(?<=\p{L}\s)St\.(?!\s+\p{Lu}\p{Ll})/gu, 'street')
      .replaceAll(/(?<!\w)St\.(?=\s+\p{Lu})/gu, 'saint')
      .replaceAll(numbered, (_found, word: string) => `${beforeNumbers[word] ?? word} `)
      .replaceAll(anyWord, (found, word: string, offset: number, whole: string) =>
        endsText(whole, offset + found.length)
          ? `${all[word.toLowerCase()] ?? word}.`
          : (all[word.toLowerCase()] ?? word),
      )
      // The full stop is often omitted after these.
      .replaceAll(/(?<![\w.])(Mr|Mrs|Ms|Dr)(?=\s+\p{Lu})/gu, (word) => all[word.toLowerCase()] ?? word)
  );
}

/** The full stop of an abbreviation at the end of a sentence also ends the sentence. */
function endsText(text: string, from: number): boolean {
  return /^["'”’»)\]}\s]*$/u.test(text.slice(from));
}
