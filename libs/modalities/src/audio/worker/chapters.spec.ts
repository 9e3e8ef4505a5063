import { describe, expect, it } from 'vitest';
import { chaptersOf } from './chapters.js';

const texts = (text: string) => chaptersOf(text).map((chapter) => chapter.map((sentence) => sentence.text.trim()));

describe('chapters', () => {
  it('end at a line of dashes or asterisks, and at a form feed', () => {
    const text = 'One. Two.\n\n---\n\nThree.\r\n\r\n* not a break *\r\n***\r\nFour.\fFive.';
    expect(texts(text)).toEqual([['One.', 'Two.'], ['Three.', '* not a break *'], ['Four.'], ['Five.']]);
  });

  it('are one without a separator, even with dashes within a line', () => {
    expect(texts('It --- well --- ended. Then?')).toHaveLength(1);
  });

  it('are left out when empty', () => {
    expect(texts('\n---\n\n---\nOnly this.\n---\n')).toEqual([['Only this.']]);
  });
});
