import { describe, expect, it } from 'vitest';
import { createHostIdentity } from '../host-identity.js';
import { FieldOpener, sealText } from './seal-text.js';
import { contentBytes, fieldsOf, isSealedContent, openContent } from './sealed-content.js';

const identity = createHostIdentity();
const seal = (text: string): string => sealText(text, Buffer.from(identity.publicKey, 'hex'));
const opener = new FieldOpener(identity.sharedSecret);
const open = (field: string): string => opener.open(field);

describe('a content of several sealed fields', () => {
  it.each([
    ['one field', [seal('Grüße')], 'Grüße', 1],
    ['joined parts', [seal('one'), seal(''), seal('three\nlines')], 'one\n\nthree\nlines', 3],
    ['joined messages', [seal('be kind'), '', seal('be brief')], 'be kind\n\nbe brief', 2],
  ])('opens with its line breaks: %s', (_, lines, text, count) => {
    const content = lines.join('\n');
    expect(openContent(content, open)).toEqual({ text });
    expect(fieldsOf(content)).toHaveLength(count);
    expect(contentBytes(content)).toBe(Buffer.byteLength(text));
  });

  it('moves a mark to the end of the same part', () => {
    const parts = [seal('one'), seal('second'), seal('x')];
    let mark = 0;
    const marks = parts.map((part, index) => (mark += part.length + (index > 0 ? 1 : 0)));
    const content = parts.join('\n');
    expect(marks.map((place) => openContent(content, open, place).mark)).toEqual([3, 10, 12]);
    expect(openContent(content, open, 0).mark).toBe(0);
  });

  it.each(['', '\n', 'text', `${seal('a')} ${seal('b')}`, `${seal('a')}\ntext`, `${seal('a')}\r\n${seal('b')}`])(
    'is none: case %#',
    (content) => {
      expect(isSealedContent(content)).toBe(false);
      expect(fieldsOf(content)).toEqual([]);
      expect(contentBytes(content)).toBe(Buffer.byteLength(content));
      expect(() => openContent(content, open)).toThrow('Encrypted field is not valid hex');
    },
  );
});
