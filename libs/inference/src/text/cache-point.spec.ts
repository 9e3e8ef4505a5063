import { describe, expect, it } from 'vitest';
import { textToCache } from './cache-point.js';
import { ChatTemplate } from './chat-template.js';

const template = new ChatTemplate(
  '{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}<assistant>',
  { bos: null, eos: null, unk: null, pad: null },
);
const system = { role: 'system', content: 'Be kind.' };
const user = { role: 'user', content: 'A long text. A question?' };

describe('the part of a prompt to cache', () => {
  it('ends with the system messages without a mark', () => {
    expect(textToCache({ messages: [system, user] }, template)).toBe('<system>Be kind.');
    expect(textToCache({ messages: [system, user] }, null)).toBe('Be kind.');
    expect(textToCache({ messages: [user] }, template)).toBe('');
  });

  it('ends with the last mark, inside of a message too', () => {
    const marked = { ...user, cacheMark: 12 };
    expect(textToCache({ messages: [system, marked] }, template)).toBe('<system>Be kind.</><user>A long text.');
    const both = [system, marked, { role: 'assistant', content: 'Yes.' }, { ...user, cacheMark: 24 }];
    expect(textToCache({ messages: both }, template)).toBe(
      '<system>Be kind.</><user>A long text. A question?</><assistant>Yes.</><user>A long text. A question?',
    );
  });

  it('is never shorter than the system message, whatever its mark', () => {
    expect(textToCache({ messages: [{ ...system, cacheMark: 2 }, user] }, template)).toBe('<system>Be kind.');
  });

  it('is nothing for plain text and for a template that drops the message', () => {
    expect(textToCache({ text: 'Once' }, template)).toBe('');
    const fixed = new ChatTemplate('<assistant>', { bos: null, eos: null, unk: null, pad: null });
    expect(textToCache({ messages: [system, user] }, fixed)).toBe('');
  });
});
