import { describe, expect, it } from 'vitest';
import { ChatTemplate } from './chat-template.js';
import { buildPrompt } from './prompt-builder.js';

const special = { bos: null, eos: null, unk: null, pad: null };

describe('buildPrompt', () => {
  it('continues the last message if the model has no template', () => {
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

  it('joins the turns in order, with a space between words', () => {
    const messages = [
      { role: 'user', content: 'Once' },
      { role: 'assistant', content: ' there was a fox.' },
      { role: 'user', content: 'It ran' },
    ];
    expect(buildPrompt({ messages }, null).text).toBe('Once there was a fox. It ran');
  });

  it('reports that the template has already opened the thinking block', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(buildPrompt({ messages }, new ChatTemplate('A:<think>\n', special)).opensThinking).toBe(true);
    expect(buildPrompt({ messages }, new ChatTemplate('A:<think></think>', special)).opensThinking).toBe(false);
  });

  it('leaves plain text unchanged', () => {
    expect(buildPrompt({ text: 'as it is ' }, null)).toMatchObject({ text: 'as it is ', kind: 'continuation' });
  });
});
