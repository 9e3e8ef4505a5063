import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pronounceByRule } from './letter-to-sound.js';

describe('pronounceByRule', () => {
  it.each([
    ['cat', 'K AE1 T'],
    ['phone', 'F OW1 N'],
    ['nation', 'N EY1 SH AH0 N'],
    ['knight', 'N AY1 T'],
    ['making', 'M EY1 K IH0 NG'],
    ['table', 'T EY1 B AH0 L'],
    ['wanted', 'W AA1 N T IH0 D'],
    ['judge', 'JH AH1 JH'],
    ['musical', 'M Y UW1 Z IH0 K AH0 L'],
  ])('reads %s', (word, phones) => {
    expect(pronounceByRule(word).join(' ')).toBe(phones);
  });

  it('puts one main stress into every word that has a vowel', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), maxLength: 30 }), (word) => {
        const phones = pronounceByRule(word);
        const vowels = phones.filter((phone) => /\d$/.test(phone));
        expect(vowels.filter((phone) => phone.endsWith('1'))).toHaveLength(vowels.length === 0 ? 0 : 1);
        expect(phones.every((phone) => /^[A-Z]{1,2}[012]?$/.test(phone))).toBe(true);
      }),
    );
  });
});
