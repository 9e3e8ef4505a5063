/* Context-free Kokoro symbol of each CMUdict phone. */

const consonants: Readonly<Record<string, string>> = {
  B: 'b',
  CH: 'ʧ',
  D: 'd',
  DH: 'ð',
  F: 'f',
  G: 'ɡ',
  HH: 'h',
  JH: 'ʤ',
  K: 'k',
  L: 'l',
  M: 'm',
  N: 'n',
  NG: 'ŋ',
  P: 'p',
  R: 'ɹ',
  S: 's',
  SH: 'ʃ',
  T: 't',
  TH: 'θ',
  V: 'v',
  W: 'w',
  Y: 'j',
  Z: 'z',
  ZH: 'ʒ',
};

const vowels: Readonly<Record<string, string>> = {
  AA: 'ɑ',
  AE: 'æ',
  AH: 'ʌ',
  AO: 'ɔ',
  AW: 'W',
  AY: 'I',
  EH: 'ɛ',
  ER: 'ɜɹ',
  EY: 'A',
  IH: 'ɪ',
  IY: 'i',
  OW: 'O',
  OY: 'Y',
  UH: 'ʊ',
  UW: 'u',
};

export const stressMarks: Readonly<Record<string, string>> = { '1': 'ˈ', '2': 'ˌ' };

/** Maps one phone regardless of its neighbors. */
export function plainSymbol(phone: string): string {
  const consonant = consonants[phone];
  if (consonant !== undefined) return consonant;
  const [, name = '', stress = '0'] = /^([A-Z]+)(\d)?$/.exec(phone) ?? [];
  if (stress === '0' && name === 'AH') return 'ə';
  if (stress === '0' && name === 'ER') return 'əɹ';
  return `${stressMarks[stress] ?? ''}${vowels[name] ?? ''}`;
}

export function isVowel(phone: string | undefined): boolean {
  return phone !== undefined && /\d$/.test(phone);
}
