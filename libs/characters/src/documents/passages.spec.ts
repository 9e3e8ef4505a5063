import { describe, expect, it } from 'vitest';
import { leastProcessorMs } from '#test/processor-time';
import { splitIntoPassages } from './passages.js';

const sentence = 'The harbour closes at dusk and opens with the first bell. ';

describe('the passages of a text', () => {
  it('join short paragraphs and end at paragraphs', () => {
    expect(splitIntoPassages('\n\nOne.\n\n \nTwo.\n')).toEqual(['One.\n\nTwo.']);
    const long = sentence.repeat(6).trim();
    expect(splitIntoPassages(`${long}\n\n${long}\n\nLast.`)).toEqual([long, long, 'Last.']);
  });

  it('split long paragraphs at sentences, words, and in words', () => {
    const sentences = splitIntoPassages(sentence.repeat(100));
    expect(sentences.every((text) => text.endsWith('bell.') && text.length <= 900)).toBe(true);
    expect(sentences.join(' ')).toBe(sentence.repeat(100).trim());
    const words = splitIntoPassages('word '.repeat(1_000));
    expect(words.every((text) => text.length <= 900)).toBe(true);
    expect(words.join(' ').split(/\s+/).filter(Boolean)).toHaveLength(1_000);
    expect(splitIntoPassages('x'.repeat(2_000)).join('')).toBe('x'.repeat(2_000));
  });

  it('are shorter in scripts whose characters are tokens', () => {
    const passages = splitIntoPassages('港は夕方に閉まります。'.repeat(200));
    expect(passages.every((text) => [...text].length <= 450)).toBe(true);
    expect(passages.join('').replaceAll(' ', '')).toBe('港は夕方に閉まります。'.repeat(200));
  });

  it.each(['a ', 'a\n\n', '. ', '港。', '\n \t'])('take little time for a long text of %j', (unit) => {
    const text = unit.repeat(1_200_000 / unit.length);
    // It took 1.3 s while what was joined was counted again.
    expect(leastProcessorMs(700, () => splitIntoPassages(text))).toBeLessThan(700);
  });

  it('are none of an empty text', () => {
    expect(splitIntoPassages(' \n\n \t')).toEqual([]);
  });
});
