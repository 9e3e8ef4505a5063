import { describe, expect, it } from 'vitest';
import { cutPhonemes } from './cut-phonemes.js';

describe('cutPhonemes', () => {
  it('leaves short text in one piece', () => {
    expect(cutPhonemes('həlˈO, wˈɜɹld', 20)).toEqual(['həlˈO, wˈɜɹld']);
  });

  it('cuts after a mark, else between words, else anywhere', () => {
    expect(cutPhonemes('aaaa, bbbb cccc', 8)).toEqual(['aaaa,', 'bbbb', 'cccc']);
    expect(cutPhonemes('a'.repeat(20), 8)).toEqual(['aaaaaaaa', 'aaaaaaaa', 'aaaa']);
  });

  it('returns no pieces for silence', () => {
    expect(cutPhonemes('  ', 8)).toEqual([]);
  });
});
