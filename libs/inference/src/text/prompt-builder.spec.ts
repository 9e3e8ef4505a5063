import { describe, expect, it } from 'vitest';
import { ChatTemplate } from './chat-template.js';
import { buildPrompt } from './prompt-builder.js';

const special = { bos: null, eos: null, unk: null, pad: null };

describe('buildPrompt', () => {
  it('continues the last message if the model has no template, after the system messages', () => {
    const messages = [
      { role: 'system', content: 'A story about a fox.' },
      { role: 'user', content: 'Once upon a time' },
    ];
    expect(buildPrompt({ messages }, null)).toEqual({
      text: 'A story about a fox. Once upon a time',
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

  describe('with reasoning switched off', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const off = { messages, enableThinking: false };
    const usual = { open: '<think>', close: '</think>' };
    const promptOf = (source: string, reasoning: typeof usual | null = usual) =>
      buildPrompt(off, new ChatTemplate(source, special), reasoning);

    it('leaves the prompt to a template with a switch, under either name', () => {
      for (const name of ['enable_thinking', 'thinking']) {
        const { text, opensThinking } = promptOf(
          `A:{% if ${name} is defined and not ${name} %}!{% else %}<think>{% endif %}`,
        );
        expect([text, opensThinking]).toEqual(['A:!', false]);
      }
    });

    it('writes an empty block where the template cannot', () => {
      expect(promptOf('A:').text).toBe('A:<think>\n\n</think>\n\n');
      expect(promptOf('A:<think>\n')).toMatchObject({ text: 'A:<think>\n\n</think>\n\n', opensThinking: false });
    });

    it('writes nothing for a model that does not reason', () => {
      expect(promptOf('A:', null).text).toBe('A:');
    });
  });

  it('leaves plain text unchanged', () => {
    expect(buildPrompt({ text: 'as it is ' }, null)).toMatchObject({ text: 'as it is ', kind: 'continuation' });
  });
});
