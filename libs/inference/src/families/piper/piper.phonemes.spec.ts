import { describe, expect, it } from 'vitest';
import { piperPhonemes } from './piper.phonemes.js';

describe('piperPhonemes', () => {
  it.each([
    ['water', 'W AO1 T ER0', 'wˈɔːɾɚ'],
    ['button', 'B AH1 T AH0 N', 'bˈʌtən'],
    ['wanted', 'W AA1 N T IH0 D', 'wˈɑːntᵻd'],
    ['about', 'AH0 B AW1 T', 'ɐbˈaʊt'],
    ['judge', 'JH AH1 JH', 'dʒˈʌdʒ'],
    ['city', 'S IH1 T IY0', 'sˈɪɾi'],
    ['understand', 'AH2 N D ER0 S T AE1 N D', 'ˌʌndɚstˈænd'],
  ])('writes "%s"', (word, phones, expected) => {
    expect(piperPhonemes([{ word, phones: phones.split(' ') }])).toBe(expected);
  });

  it('leaves function words without stress, except at the end, and puts marks behind their word', () => {
    const the = { word: 'the', phones: ['DH', 'AH0'] };
    const at = { word: 'at', phones: ['AE1', 'T'] };
    const end = { word: 'end', phones: ['EH1', 'N', 'D'] };
    expect(piperPhonemes([at, the, end, { mark: '…' }])).toBe('æt ðɪ ˈɛnd.');
    expect(piperPhonemes([{ word: 'look', phones: ['L', 'UH1', 'K'] }, { mark: '—' }, at, { mark: '"' }])).toBe(
      'lˈʊk, ˈæt',
    );
  });
});
