import { describe, expect, it } from 'vitest';
import { ChatTemplate } from './chat-template.js';
import { buildPrompt } from './prompt-builder.js';

const special = { bos: null, eos: null, unk: null, pad: null };

describe('buildPrompt', () => {
  it('lets a model without a template go on with the last message', () => {
    const messages = [
      { role: 'system', content: 'You tell stories.' },
      { role: 'user', content: 'Once upon a time' },
    ];
    expect(buildPrompt({ messages }, null)).toEqual({
      text: 'Once upon a time',
      kind: 'continuation',
      opensThinking: false,
    });
  });

  it('puts the turns so far in order, a space between words', () => {
    const messages = [
      { role: 'user', content: 'Once' },
      { role: 'assistant', content: ' there was a fox.' },
      { role: 'user', content: 'It ran' },
    ];
    expect(buildPrompt({ messages }, null).text).toBe('Once there was a fox. It ran');
  });

  it('says when the template has already opened the thinking', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(buildPrompt({ messages }, new ChatTemplate('A:<think>\n', special)).opensThinking).toBe(true);
    expect(buildPrompt({ messages }, new ChatTemplate('A:<think></think>', special)).opensThinking).toBe(false);
  });

  it('takes a bare text as it is', () => {
    expect(buildPrompt({ text: 'as it is ' }, null)).toMatchObject({ text: 'as it is ', kind: 'continuation' });
  });
});
