import type { SpokenToken } from '../../speech/english/spoken-text.js';

/** One step of what the model says: a symbol of its table, and how strongly. */
export interface ToneSymbol {
  symbol: string;
  /** 0 for consonants and marks; a vowel's stress of CMUdict plus one. */
  tone: number;
}

/** Marks the model knows by another sign, and those it knows. */
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

/** The phones of a sentence as the model was trained with them: CMUdict's in small letters, `V` for `v`. */
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
