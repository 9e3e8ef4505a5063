import { describe, expect, it } from 'vitest';
import { catalog, promptTexts } from './catalog.js';

const written = (modality: string, payload: object) => promptTexts(modality, payload).filter(({ text }) => text !== '');

describe('the texts of a job', () => {
  it.each([
    ['audio', { text: 'a' }, [['prompt', 'a']]],
    [
      'embedding',
      { texts: ['a', 'b'] },
      [
        ['input', 'a'],
        ['input', 'b'],
      ],
    ],
    ['embedding', { texts: [], tokenIds: [[1]] }, [['input', null]]],
    [
      'image',
      { prompt: 'a', negativePrompt: 'b' },
      [
        ['prompt', 'a'],
        ['negative_prompt', 'b'],
      ],
    ],
    ['chat', { messages: [], sealing: {} }, [['messages', null]]],
    ['speech', { text: 'a' }, [['input', 'a']]],
    ['transcription', { prompt: 'a' }, [['prompt', 'a']]],
    ['transcription', { prompt: null }, []],
    [
      'video',
      { words: { prompt: 'a', negativePrompt: 'b' } },
      [
        ['prompt', 'a'],
        ['negative_prompt', 'b'],
      ],
    ],
    ['video', {}, []],
  ])('of %s are those a client wrote: %j', (modality, payload, expected) => {
    expect(written(modality, payload).map(({ param, text }) => [param, text])).toEqual(expected);
  });

  it('of chat are in messages, calls, tools and prompts', () => {
    const messages = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: '',
        reasoningContent: 'b',
        toolCalls: [{ id: '1', name: 'f', arguments: '{"c":1}' }],
      },
    ];
    const tools = [{ name: 'f', description: 'd', parameters: { title: 'e' }, strict: false }];
    expect(written('chat', { messages, tools }).map(({ text }) => text)).toEqual([
      'a',
      'b',
      '{"c":1}',
      'd',
      '{"title":"e"}',
    ]);
    expect(written('chat', { messages: [], prompts: [{ text: 'f', param: 'prompt' }] })).toEqual([
      { param: 'prompt', text: 'f' },
    ]);
    expect(written('chat', { messages: [], prompts: [{ tokenIds: [1], param: 'prompt' }] })).toEqual([
      { param: 'prompt', text: null },
    ]);
  });

  it('are none for a slice that no longer exists', () => {
    expect(promptTexts('gone', { text: 'a' })).toEqual([]);
    expect(Object.keys(catalog)).not.toContain('gone');
  });
});
