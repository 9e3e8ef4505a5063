/* Symbols Kokoro-82M was trained on, with their ids (tokenizer.json of the published model). Unused ids are gaps. */
const symbols: Readonly<Record<number, string>> = {
  1: ';:,.!?',
  9: '—…"()“” \u0303ʣʥʦʨᵝ\uAB67AI',
  31: 'O',
  33: 'Q',
  35: 'ST',
  39: 'W',
  41: 'Yᵊabcdef',
  50: 'hijklmnopqrstuvwxyzɑɐɒæ',
  75: 'βɔɕç',
  80: 'ɖðʤə',
  85: 'ɚɛɜ',
  90: 'ɟ',
  92: 'ɡ',
  99: 'ɥ',
  101: 'ɨɪʝ',
  110: 'ɯɰŋɳɲɴø',
  118: 'ɸθœ',
  123: 'ɹ',
  125: 'ɾɻ',
  128: 'ʁɽʂʃʈʧ',
  135: 'ʊʋ',
  138: 'ʌɣɤ',
  142: 'χʎ',
  147: 'ʒʔ',
  156: 'ˈˌː',
  162: 'ʰ',
  164: 'ʲ',
  169: '↓',
  171: '→↗↘',
  177: 'ᵻ',
};

const ids = new Map(
  Object.entries(symbols).flatMap(([first, run]) => [...run].map((symbol, index) => [symbol, Number(first) + index])),
);

/** Starts and ends every sequence. */
export const padId = 0;

/** Returns the ids of known symbols and omits the others. */
export function symbolIds(phonemes: string): number[] {
  return [...phonemes].flatMap((symbol) => ids.get(symbol) ?? []);
}
