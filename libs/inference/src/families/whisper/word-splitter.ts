/** A word and its tokens. */
export interface TokenWord {
  /** Includes the leading space. */
  word: string;
  tokens: number[];
}

/** Python's `string.punctuation`, at which the reference splits. */
const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';

/** Languages written without spaces. */
const unspaced = new Set(['zh', 'ja', 'th', 'lo', 'my', 'yue']);

type Decode = (ids: readonly number[]) => string;

/**
 * Splits the tokens of a text into words: at spaces and punctuation, or at every character in languages without spaces.
 */
export function splitTokenWords(tokens: readonly number[], decode: Decode, language: string | null): TokenWord[] {
  const characters = splitAtCharacters(tokens, decode);
  return language !== null && unspaced.has(language) ? characters : joinAtSpaces(characters);
}

/** Returns the shortest runs of tokens that are whole characters. */
function splitAtCharacters(tokens: readonly number[], decode: Decode): TokenWord[] {
  const whole = decode(tokens);
  const words: TokenWord[] = [];
  let current: number[] = [];
  let offset = 0;
  for (const token of tokens) {
    current.push(token);
    const text = decode(current);
    const broken = text.indexOf('\uFFFD');
    // A replacement character that is also in the whole text was really transcribed.
    if (broken >= 0 && whole[offset + broken] !== '\uFFFD') continue;
    words.push({ word: text, tokens: current });
    current = [];
    offset += text.length;
  }
  return words;
}

function joinAtSpaces(parts: readonly TokenWord[]): TokenWord[] {
  const words: TokenWord[] = [];
  for (const part of parts) {
    const last = words.at(-1);
    const begins = part.word.startsWith(' ') || punctuation.includes(part.word.trim());
    if (last === undefined || begins) words.push({ word: part.word, tokens: [...part.tokens] });
    else {
      last.word += part.word;
      last.tokens.push(...part.tokens);
    }
  }
  return words;
}
