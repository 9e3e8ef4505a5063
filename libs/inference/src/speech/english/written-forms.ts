/* Written forms that are not words: addresses, symbols, names in capitals. */

const symbols: Readonly<Record<string, string>> = {
  '&': 'and',
  '%': 'percent',
  '+': 'plus',
  '=': 'equals',
  '×': 'times',
  '÷': 'divided by',
  '±': 'plus or minus',
  '≈': 'about',
  '≤': 'at most',
  '≥': 'at least',
  '≠': 'is not',
  '→': 'to',
  '@': 'at',
  '°': 'degrees',
  '©': 'copyright',
  '™': '',
  '®': '',
  $: 'dollars',
  '£': 'pounds',
  '€': 'euros',
  '¥': 'yen',
};

/** Speaks host names and addresses; the scheme is dropped. */
export function sayAddresses(text: string): string {
  return text
    .replaceAll(/\b(?:https?|ftp):\/\/(?:www\.)?([^\s<>"“”]+)/giu, (_found, rest: string) => spokenAddress(rest))
    .replaceAll(/\bwww\.([^\s<>"“”]+)/giu, (_found, rest: string) => spokenAddress(rest))
    .replaceAll(/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/gu, (found) => spokenAddress(found))
    .replaceAll(/\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|edu|gov|io|dev|ai|co\.uk)\b/giu, (found) =>
      spokenAddress(found),
    );
}

function spokenAddress(address: string): string {
  const [, body = '', tail = ''] = /^(.*?)([.,!?;:)\]'"]*)$/su.exec(address) ?? [];
  const words = body
    .replace(/\/$/u, '')
    .replaceAll('@', ' at ')
    .replaceAll('.', ' dot ')
    .replaceAll('/', ' slash ')
    .replaceAll(/[-–]/gu, ' dash ')
    .replaceAll('_', ' underscore ')
    .replaceAll(/[?&=#%+:~]/gu, ' ');
  return `${words}${tail}`;
}

/** Replaces symbols that stand for a word, and drops the others. The text has no digits any more. */
export function saySymbols(text: string): string {
  return text
    .replaceAll(/\b(and|either)\/or\b/giu, '$1 or')
    .replaceAll(/(?<=\p{Lu}{2})\/(?=\p{Lu}{2})/gu, ' ')
    .replaceAll(/(?<=\p{L})\/(?=\p{L})/gu, ' or ')
    .replaceAll(/\b([A-G])#(?!\w)/gu, '$1 sharp')
    .replaceAll(/[&%+=×÷±≈≤≥≠→@°©™®$£€¥]/gu, (symbol) => ` ${symbols[symbol] ?? ''} `)
    .replaceAll(/[#*_~^|\\<>{}[\]/`•·■●▪]/gu, ' ');
}

const romanValues: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };

function romanNumber(numeral: string): number {
  let total = 0;
  for (let index = 0; index < numeral.length; index += 1) {
    const value = romanValues[numeral[index] ?? ''] ?? 0;
    total += value < (romanValues[numeral[index + 1] ?? ''] ?? 0) ? -value : value;
  }
  return total;
}

const numeral = '(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})';

const countedNoun = new RegExp(
  `\\b(Chapter|Part|Act|Scene|Volume|Book|War|Phase|Type|Section|Article|Super Bowl)\\s+(${numeral})\\b`,
  'gu',
);
const ruler = new RegExp(
  `\\b(Henry|Louis|Elizabeth|George|Edward|Charles|James|William|Richard|Pius|John Paul|Philip)\\s+(${numeral})\\b`,
  'gu',
);

/** Speaks Roman numerals where they are unambiguous: after counted nouns and after names of rulers. */
export function sayRomanNumerals(text: string): string {
  return text
    .replaceAll(countedNoun, (_found, what: string, roman: string) => `${what} ${romanNumber(roman)}`)
    .replaceAll(ruler, (_found, name: string, roman: string) => `${name} the ${romanNumber(roman)}th`);
}

/** Splits joined words: `GitHub` → `Git Hub`. Only where the case changes inside a word; names in capitals stay. */
export function splitCompounds(text: string): string {
  return text.replaceAll(/(?<=\p{Ll}{2})(?=\p{Lu}\p{Ll})/gu, ' ').replaceAll(/(?<=\p{L})[-‐‑](?=\p{L})/gu, ' ');
}
