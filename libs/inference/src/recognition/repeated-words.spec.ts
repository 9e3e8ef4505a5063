import { describe, expect, it } from 'vitest';
import { lastWords, withoutRepeated } from './repeated-words.js';

describe('words that two windows share', () => {
  it('are returned once, whatever their case and punctuation', () => {
    const tail = lastWords('And so, my fellow Americans');
    expect(withoutRepeated(tail, 'my fellow americans, ask not')).toBe('ask not');
    expect(withoutRepeated(tail, 'Americans. Ask not')).toBe('Ask not');
  });

  it('are found after one word that was cut', () => {
    expect(withoutRepeated(['the', 'quick', 'brown', 'fox'], 'ick brown fox jumps')).toBe('jumps');
    // A single match after another word may be chance.
    expect(withoutRepeated(['a', 'fox'], 'no fox jumps')).toBe('no fox jumps');
  });

  it('leave the text unchanged where there are none', () => {
    expect(withoutRepeated([], 'ask not')).toBe('ask not');
    expect(withoutRepeated(['so'], 'ask  not')).toBe('ask not');
    expect(withoutRepeated(['—'], '— ask')).toBe('— ask');
  });

  it('may be the whole text', () => {
    expect(withoutRepeated(['ask', 'not'], 'ask not')).toBe('');
  });

  it('are searched among the last twelve', () => {
    expect(lastWords(Array.from({ length: 30 }, (_, index) => `w${index}`).join(' '))).toHaveLength(12);
  });
});
