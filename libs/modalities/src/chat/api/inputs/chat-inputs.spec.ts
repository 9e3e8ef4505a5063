import { describe, expect, it } from 'vitest';
import { ClientDisconnectedError, type ModelRequest } from '#gateway';
import { testDouble } from '#test/test-double';
import type { ChatFilePart, ChatMessage, ChatPart } from '../../contract/chat.message.js';
import type { ChatImages } from './chat-images.js';
import { ChatInputs } from './chat-inputs.js';
import type { PartReader } from './part-reader.js';

const disconnection = new AbortController();
const opened = { http: { disconnected: disconnection.signal } } as ModelRequest;
const noImages = testDouble<ChatImages>({ prepare: (messages) => Promise.resolve(messages) });

function file(data: string): ChatFilePart {
  return { type: 'file', file: { file_data: data } };
}

function user(...content: ChatPart[]): ChatMessage {
  return { role: 'user', content };
}

/** Reads a file part as its data in brackets and records the order of its calls. */
function fileReader(maxParts?: number): PartReader & { params: string[] } {
  const params: string[] = [];
  return {
    type: 'file',
    maxParts,
    params,
    read: async (part, { param }) => {
      await Promise.resolve();
      params.push(param);
      return `[${(part as ChatFilePart).file.file_data}]`;
    },
  };
}

describe('ChatInputs', () => {
  it('replaces each part that has a reader by text, in place', async () => {
    const reader = fileReader();
    const text: ChatPart = { type: 'text', text: 'Compare.' };
    const messages: ChatMessage[] = [{ role: 'system', content: 'Be brief.' }, user(text, file('a')), user(file('b'))];
    const prepared = await new ChatInputs([reader], noImages).prepare(messages, opened);
    expect(prepared).toEqual([
      messages[0],
      user(text, { type: 'text', text: '[a]' }),
      user({ type: 'text', text: '[b]' }),
    ]);
    expect(reader.params).toEqual(['messages[1].content[1]', 'messages[2].content[0]']);
    expect(messages[2]).toEqual(user(file('b')));
  });

  it('returns the same array if no part has a reader', async () => {
    const image: ChatPart = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const messages = [user(image), { role: 'user', content: 'Hi' } as ChatMessage];
    expect(await new ChatInputs([fileReader()], noImages).prepare(messages, opened)).toBe(messages);
  });

  it('refuses too many parts before it reads one', async () => {
    const reader = fileReader(1);
    await expect(
      new ChatInputs([reader], noImages).prepare([user(file('a'), file('b'))], opened),
    ).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'messages[0].content[1]',
      message: 'A request may hold at most 1 parts of type file.',
    });
    expect(reader.params).toEqual([]);
  });

  it('reads no further part after one that failed', async () => {
    const read: string[] = [];
    const reader: PartReader = {
      type: 'file',
      read: (_part, { param }) => {
        read.push(param);
        return Promise.reject(new Error('unreadable'));
      },
    };
    await expect(new ChatInputs([reader], noImages).prepare([user(file('a'), file('b'))], opened)).rejects.toThrow(
      'unreadable',
    );
    expect(read).toEqual(['messages[0].content[0]']);
  });

  it('reports whatever fails after the client disconnected as its disconnection', async () => {
    const reader: PartReader = { type: 'file', read: () => Promise.reject(new Error('aborted')) };
    disconnection.abort();
    await expect(new ChatInputs([reader], noImages).prepare([user(file('a'))], opened)).rejects.toThrow(
      ClientDisconnectedError,
    );
  });
});
