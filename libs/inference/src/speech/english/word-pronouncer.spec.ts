import { describe, expect, it } from 'vitest';
import { PronunciationDictionary } from './pronunciation-dictionary.js';
import { spokenText } from './spoken-text.js';
import { WordPronouncer } from './word-pronouncer.js';

const dictionary = PronunciationDictionary.of({
  the: 'DH AH0',
  'the(2)': 'DH IY0',
  we: 'W IY1',
  use: 'Y UW1 S',
  fire: 'F AY1 ER0',
  wall: 'W AO1 L',
  position: 'P L EY1 S',
  happy: 'HH AE1 P IY0',
  stop: 'S T AA1 P',
  nasa: 'N AE1 S AH0',
  want: 'W AA1 N T',
  cat: 'K AE1 T',
  box: 'B AA1 K S',
});
const pronouncer = new WordPronouncer(dictionary, null);

function say(text: string): string {
  return spokenText(text, pronouncer)
    .map((token) => ('mark' in token ? token.mark : token.phones.join(' ')))
    .join(' | ');
}

describe('WordPronouncer', () => {
  it.each([
    ['cat', 'K AE1 T'],
    ["cat's", 'K AE1 T S'],
    ["box's", 'B AA1 K S IH0 Z'],
    ['boxes', 'B AA1 K S IH0 Z'],
    ['stopped', 'S T AA1 P T'],
    ['wanted', 'W AA1 N T IH0 D'],
    ['placing', 'P L EY1 S IH0 NG'],
    ['happily', 'HH AE1 P IY0 L IY0'],
    ['unhappy', 'AH0 N HH AE1 P IY0'],
    ['firewalls', 'F AY1 ER0 W AO2 L Z'],
    ["wantn't", 'W AA1 N T AH0 N T'],
  ])('derives %s from known words', (word, phones) => {
    expect(say(word)).toBe(phones);
  });

  it('spells letters, and reads capitalised names that are words', () => {
    expect(say('XYZ')).toBe('EH2 K S W AY2 Z IY1');
    expect(say('the U.S. cat')).toContain('Y UW2 EH1 S');
    expect(say('the NASA cat')).toContain('N AE1 S AH0');
    expect(say('the IT cat')).toContain('AY2 T IY1');
    expect(say('MP3')).toMatch(/^EH2 M P IY1/);
  });

  it('does not spell a sentence that is all capitals', () => {
    expect(say('WE WANT THE CAT')).toBe('W IY1 | W AA1 N T | DH AH0 | K AE1 T');
  });

  it('decides by the word before whether a word is a verb', () => {
    expect(say('we use the cat')).toContain('Y UW1 Z');
    expect(say('the use')).toBe('DH AH0 | Y UW1 S');
  });

  it('pronounces unknown words by rule, and never returns nothing', () => {
    expect(say('blorptic')).toMatch(/^B L /);
    expect(say('hmm')).not.toBe('');
  });

  it('keeps the marks that affect intonation', () => {
    expect(say('cat, cat; (cat)!')).toBe('K AE1 T | , | K AE1 T | ; | ( | K AE1 T | ) | !');
  });
});
