import { isVowel, stressMarks } from '../../speech/english/phones.js';
import { plainSymbol } from './kokoro.symbols.js';

/*
 * Derives southern British English from American phones: `r` only before a vowel, and long vowels where the spelling
 * tells. CMUdict has no British pronunciations, so this is an approximation.
 */

/** Words with a long `a` in the south of England. */
const longA =
  /^(?:after|answer|ask|aunt|basket|bath|branch|brass|can't|cast|castle|chance|class|command|craft|dance|demand|draft|example|fast|france|glance|glass|graph|grant|grass|half|last|laugh|mask|master|nasty|pass|past|path|plant|raft|rather|sample|shaft|staff|task|vast)/u;

/** Letters after which `AO` is the long vowel of `law`; elsewhere, as in `dog` and `off`, it is short. */
const longO = /a[luw]|^wa|augh|ough|or|oa|our|oor|ar/u;

/** Returns the symbols of a word. */
export function britishPhonemes(word: string, phones: readonly string[]): string {
  return phones
    .map((phone, index) => {
      const [before, after] = [phones[index - 1], phones[index + 1]];
      if (phone === 'R') return isVowel(after) ? 'ɹ' : '';
      if (!isVowel(phone)) return plainSymbol(phone);
      const mark = stressMarks[phone.at(-1) ?? ''] ?? '';
      const symbol = britishVowel(word, phone, {
        before,
        after,
        isRhotic: after === 'R' && !isVowel(phones[index + 2]),
      });
      return `${symbol.startsWith('j') ? 'j' : ''}${mark}${symbol.replace(/^j/u, '')}`;
    })
    .join('');
}

interface Neighbours {
  before: string | undefined;
  after: string | undefined;
  /** True when a silent `r` follows. */
  isRhotic: boolean;
}

function britishVowel(word: string, phone: string, { before, after, isRhotic }: Neighbours): string {
  const weak = phone.endsWith('0');
  const link = isVowel(after) ? 'ɹ' : '';
  switch (phone.slice(0, -1)) {
    case 'AA':
      return isRhotic || (word.includes('a') && !word.includes('o') && !/w[ah]|qua/u.test(word)) ? 'ɑː' : 'ɒ';
    case 'AE':
      return longA.test(word) ? 'ɑː' : 'a';
    case 'AH':
      return weak ? 'ə' : 'ʌ';
    case 'AO':
      return isRhotic || longO.test(word) ? 'ɔː' : 'ɒ';
    case 'EH':
      return isRhotic ? 'ɛː' : 'ɛ';
    case 'ER':
      return `${weak ? 'ə' : 'ɜː'}${link}`;
    case 'IH':
      return isRhotic ? 'ɪə' : 'ɪ';
    case 'IY':
      return weak ? 'i' : isRhotic ? 'ɪə' : 'iː';
    case 'OW':
      return 'Q';
    case 'UH':
      return isRhotic ? 'ʊə' : 'ʊ';
    case 'UW':
      return `${/^[TDN]$/.test(before ?? '') && /[tdn](?:u|ew)/u.test(word) ? 'j' : ''}uː`;
    default:
      return plainSymbol(phone.replace(/\d$/, '0'));
  }
}
