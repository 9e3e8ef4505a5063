import { consonants as ipaConsonants, stressMarks } from '../../speech/english/phones.js';

/* Context-free Kokoro symbol of each CMUdict phone. */

const consonants: Readonly<Record<string, string>> = { ...ipaConsonants, CH: 'ʧ', JH: 'ʤ' };

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

/** Maps one phone regardless of its neighbors. */
export function plainSymbol(phone: string): string {
  const consonant = consonants[phone];
  if (consonant !== undefined) return consonant;
  const [, name = '', stress = '0'] = /^([A-Z]+)(\d)?$/.exec(phone) ?? [];
  if (stress === '0' && name === 'AH') return 'ə';
  if (stress === '0' && name === 'ER') return 'əɹ';
  return `${stressMarks[stress] ?? ''}${vowels[name] ?? ''}`;
}
