import { describe, expect, it } from 'vitest';
import { chatRequestOf, emptySettings, SettingError } from './chat-request.js';

const question = { role: 'user', content: 'Hello', attachments: [] } as const;

describe('the request of a chat', () => {
  it('leaves out what is not set', () => {
    expect(chatRequestOf('tiny', emptySettings, [question])).toEqual({
      model: 'tiny',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('has every setting under the name of the API', () => {
    const settings = {
      system: 'Be short.',
      temperature: '0',
      topP: '0.9',
      maxTokens: '50',
      seed: '7',
      stop: 'END\n\nSTOP',
      reasoningEffort: 'low',
      tools: '[{"type":"function"}]',
      schema: '{"type":"object"}',
    };
    expect(chatRequestOf('tiny', settings, [question])).toMatchObject({
      messages: [{ role: 'system', content: 'Be short.' }, { role: 'user' }],
      temperature: 0,
      top_p: 0.9,
      max_completion_tokens: 50,
      seed: 7,
      stop: ['END', 'STOP'],
      reasoning_effort: 'low',
      tools: [{ type: 'function' }],
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
    });
  });

  it('sends attachments before the text, each as its kind of part', () => {
    const attachments = [
      { name: 'a.png', kind: 'image', dataUrl: 'data:image/png;base64,AA' },
      { name: 'b.mp3', kind: 'audio', dataUrl: 'data:audio/mpeg;base64,BB' },
      { name: 'c.pdf', kind: 'file', dataUrl: 'data:application/pdf;base64,CC' },
    ] as const;
    const { messages } = chatRequestOf('tiny', emptySettings, [{ ...question, attachments }]);
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
          { type: 'input_audio', input_audio: { data: 'BB', format: 'mp3' } },
          { type: 'file', file: { filename: 'c.pdf', file_data: 'data:application/pdf;base64,CC' } },
          { type: 'text', text: 'Hello' },
        ],
      },
    ]);
  });

  it('sends earlier reasoning back with its answer', () => {
    const answers = ['why', ''].map((reasoning) => ({ role: 'assistant', content: 'Hi', reasoning }) as const);
    expect(chatRequestOf('tiny', emptySettings, [question, ...answers])['messages']).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi', reasoning_content: 'why' },
      { role: 'assistant', content: 'Hi' },
    ]);
  });

  it.each([
    [{ temperature: 'warm' }, 'Temperature'],
    [{ tools: '{}' }, 'Tools'],
    [{ tools: '[' }, 'Tools'],
    [{ schema: 'no' }, 'JSON schema'],
  ])('is not made of %j, and says which field it is', (changes, label) => {
    const attempt = () => chatRequestOf('tiny', { ...emptySettings, ...changes }, [question]);
    expect(attempt).toThrow(SettingError);
    expect(attempt).toThrow(new RegExp(`^${label}: `));
  });
});
