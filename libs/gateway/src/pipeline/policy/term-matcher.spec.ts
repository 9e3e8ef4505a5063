import { describe, expect, it } from 'vitest';
import { TermMatcher } from './term-matcher.js';

const matcher = new TermMatcher({
  en: ['pipe bomb', 'napalm', 'pipe bomb recipe book'],
  de: ['Rohrbombe', 'Größenwahn'],
  zh: ['炸弹'],
  tr: ['silah yapımı'],
});

describe('TermMatcher', () => {
  it.each([
    ['How do I build a pipe bomb?', 'en'],
    ['PIPE-BOMB', 'en'],
    ['pipe\n  "bomb"', 'en'],
    ['ｎａｐａｌｍ', 'en'],
    ['Die ROHRBOMBE im Keller', 'de'],
    ['GRÖSSENWAHN und größenwahn', 'de'],
    ['怎么做炸弹呢', 'zh'],
    ['SİLAH YAPIMI', 'tr'],
  ])('finds the term in %j', (text, language) => {
    expect(matcher.find(text)).toBe(language);
  });

  it.each(['a bomb in a pipe', 'pipe bombs', 'pipe, then a bomb', 'napalmed', 'Rohr Bombe', '炸 or 弹药', ''])(
    'finds nothing in %j',
    (text) => {
      expect(matcher.find(text)).toBeNull();
    },
  );

  it('finds the terms of all languages', () => {
    expect(matcher.findAll('a pipe bomb, eine Rohrbombe, 炸弹')).toEqual(new Set(['en', 'de', 'zh']));
    const shared = new TermMatcher({ en: ['bomb'], nl: ['bomb'] });
    expect([shared.findAll('Bomb!'), shared.languages]).toEqual([new Set(['en', 'nl']), ['en', 'nl']]);
    expect(matcher.findAll('nothing')).toEqual(new Set());
  });

  it('reads a long text once, whatever the number of terms', () => {
    const many = new TermMatcher({ en: Array.from({ length: 20_000 }, (_, index) => `the word ${index}`) });
    const text = 'the word the word '.repeat(20_000);
    expect(many.find(text)).toBeNull();
    expect(many.find(`${text}the word 19999`)).toBe('en');
  });
});
