import { describe, expect, it } from 'vitest';
import { lastWords, withoutRepeated } from './repeated-words.js';

describe('words that two windows share', () => {
  it('are said once, whatever their case and punctuation', () => {
    const tail = lastWords('And so, my fellow Americans');
    expect(withoutRepeated(tail, 'my fellow americans, ask not')).toBe('ask not');
    expect(withoutRepeated(tail, 'Americans. Ask not')).toBe('Ask not');
  });

  it('are found behind one word that was cut', () => {
    expect(withoutRepeated(['the', 'quick', 'brown', 'fox'], 'ick brown fox jumps')).toBe('jumps');
    // One word alone behind another may be chance.
    expect(withoutRepeated(['a', 'fox'], 'no fox jumps')).toBe('no fox jumps');
  });

  it('leave the text as it is where there are none', () => {
    expect(withoutRepeated([], 'ask not')).toBe('ask not');
    expect(withoutRepeated(['so'], 'ask  not')).toBe('ask not');
    expect(withoutRepeated(['—'], '— ask')).toBe('— ask');
  });

  it('may be all there is', () => {
    expect(withoutRepeated(['ask', 'not'], 'ask not')).toBe('');
  });

  it('are looked for among the last twelve', () => {
    expect(lastWords(Array.from({ length: 30 }, (_, index) => `w${index}`).join(' '))).toHaveLength(12);
  });
});
