import { describe, expect, it } from 'vitest';
import type { SpokenToken } from '../../speech/english/spoken-text.js';
import { kokoroPhonemes } from './kokoro.phonemes.js';
import { symbolIds } from './kokoro.vocabulary.js';

const phones: Record<string, string> = {
  hello: 'HH AH0 L OW1',
  world: 'W ER1 L D',
  water: 'W AO1 T ER0',
  little: 'L IH1 T AH0 L',
  button: 'B AH1 T AH0 N',
  roses: 'R OW1 Z IH0 Z',
  the: 'DH AH0',
  apple: 'AE1 P AH0 L',
  to: 'T UW1',
  a: 'AH0',
  car: 'K AA1 R',
  new: 'N UW1',
  class: 'K L AE1 S',
  hot: 'HH AA1 T',
};

function tokens(text: string): SpokenToken[] {
  return (text.match(/[a-z]+|[^a-z ]/g) ?? []).map((token) => {
    const known = phones[token];
    return known === undefined ? { mark: token } : { word: token, phones: known.split(' ') };
  });
}

describe('kokoroPhonemes', () => {
  it.each([
    ['hello world', 'həlˈO wˈɜɹld'],
    ['water', 'wˈɔTəɹ'],
    ['little button', 'lˈɪTᵊl bˈʌtᵊn'],
    ['roses', 'ɹˈOzᵻz'],
    ['the world, the apple', 'ðə wˈɜɹld, ði ˈæpᵊl'],
    ['to the car, to a car', 'tə ðə kˈɑɹ, tʊ ɐ kˈɑɹ'],
    ['"hello" (world)!', '"həlˈO" (wˈɜɹld)!'],
  ])('writes %j in American', (text, symbols) => {
    expect(kokoroPhonemes(tokens(text), 'american')).toBe(symbols);
  });

  it.each([
    ['hello world', 'həlˈQ wˈɜːld'],
    ['water', 'wˈɔːtə'],
    ['a car', 'ə kˈɑː'],
    ['new class', 'njˈuː klˈɑːs'],
    ['hot', 'hˈɒt'],
  ])('writes %j in British', (text, symbols) => {
    expect(kokoroPhonemes(tokens(text), 'british')).toBe(symbols);
  });
});

describe('symbolIds', () => {
  it('has the ids of the published tokenizer', () => {
    expect(symbolIds('həlˈO wˈɜɹld!')).toEqual([50, 83, 54, 156, 31, 16, 65, 156, 87, 123, 54, 46, 5]);
    expect(symbolIds(';:,.!?—…"()“” ̃')).toEqual([1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    expect(symbolIds('AIOQSTWYᵊɐɒæðŋθɾʃʊʌʒʤʧːᵻ')).toEqual([
      24, 25, 31, 33, 35, 36, 39, 41, 42, 70, 71, 72, 81, 112, 119, 125, 131, 135, 138, 147, 82, 133, 158, 177,
    ]);
  });

  it('omits symbols that the model does not know', () => {
    expect(symbolIds('g水a')).toEqual([43]);
  });
});
