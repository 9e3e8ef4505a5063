import type { SpokenToken } from '../../speech/english/spoken-text.js';

/** One input step of the model: a symbol and its tone. */
export interface ToneSymbol {
  symbol: string;
  /** 0 for consonants and marks; CMUdict's vowel stress plus one. */
  tone: number;
}

/** Marks of the model, and marks that map to another of its signs. */
const marks: Readonly<Record<string, string>> = {
  ',': ',',
  '.': '.',
  '!': '!',
  '?': '?',
  '…': '…',
  ':': ',',
  ';': ',',
  '—': '-',
};

/** Returns the phones of a sentence in the model's notation: CMUdict in lower case, `V` for `v`. */
export function tinyTtsSymbols(tokens: readonly SpokenToken[]): ToneSymbol[] {
  return tokens.flatMap((token) => {
    if ('phones' in token) return token.phones.map(phoneSymbol);
    const mark = marks[token.mark];
    return mark === undefined ? [] : [{ symbol: mark, tone: 0 }];
  });
}

function phoneSymbol(phone: string): ToneSymbol {
  const [, name = '', stress] = /^([A-Z]+)(\d)?$/.exec(phone) ?? [];
  const symbol = name === 'V' ? 'V' : name.toLowerCase();
  return { symbol, tone: stress === undefined ? 0 : Number(stress) + 1 };
}
