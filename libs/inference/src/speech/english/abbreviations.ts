/*
 * Written short, spoken long. An entry's key is in lower case and without its full stop.
 */

/** Titles and the like: a name follows, so their full stop never ends a sentence. */
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

/** Words that may also end a sentence. */
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

/** Only with a number behind them. */
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

/** True when a text that ends with a full stop ends with an abbreviation that goes on before `after`. */
export function endsWithAbbreviation(text: string, after: string): boolean {
  const written = /([\p{L}.]+)\.$/u.exec(text)?.[1];
  if (written === undefined) return false;
  const word = written.toLowerCase();
  if (Object.hasOwn(beforeNames, word) || word === 'st') return true;
  if (/^\d/u.test(after)) return Object.hasOwn(beforeNumbers, written) || Object.hasOwn(words, word);
  return word === 'e.g' || word === 'i.e' || word === 'vs';
}

/** Writes abbreviations out. Words that are one only with a full stop stay as they are without it. */
export function expandAbbreviations(text: string): string {
  return (
    text
      .replaceAll(/(?<![\w.])e\.\s?g\.?(?!\w)/giu, 'for example')
      .replaceAll(/(?<![\w.])i\.\s?e\.?(?!\w)/giu, 'that is')
      .replaceAll(/#(?=\d)/gu, 'number ')
      .replaceAll(/\b[vV]\.?\s?(?=\d+\.\d)/gu, 'version ')
      .replaceAll(/(?<![\w.])w\/o(?!\w)/giu, 'without')
      .replaceAll(/(?<![\w.])w\/(?=\s)/giu, 'with')
      // A saint stands before a name, a street behind one.
      .replaceAll(/(?<=\p{L}\s)St\.(?!\s+\p{Lu}\p{Ll})/gu, 'street')
      .replaceAll(/(?<!\w)St\.(?=\s+\p{Lu})/gu, 'saint')
      .replaceAll(numbered, (_found, word: string) => `${beforeNumbers[word] ?? word} `)
      .replaceAll(anyWord, (found, word: string, offset: number, whole: string) =>
        endsText(whole, offset + found.length)
          ? `${all[word.toLowerCase()] ?? word}.`
          : (all[word.toLowerCase()] ?? word),
      )
      // People leave the stop out after these.
      .replaceAll(/(?<![\w.])(Mr|Mrs|Ms|Dr)(?=\s+\p{Lu})/gu, (word) => all[word.toLowerCase()] ?? word)
  );
}

/** The full stop of an abbreviation at the end of a sentence is also the sentence's. */
function endsText(text: string, from: number): boolean {
  return /^["'”’»)\]}\s]*$/u.test(text.slice(from));
}
