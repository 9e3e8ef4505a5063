import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contextOverflow } from '#common';
import type { ChatTemplateMessage, PromptImage, TextGenerationRequest } from '../contract/text-generation.js';
import type { EncodedPrompt } from './prompt-encoder.js';
import { encodeTruncated } from './prompt-truncation.js';

const contextLength = 100;

/** A token per character, and 1 per message. */
function lengthOf(messages: readonly ChatTemplateMessage[]): number {
  return messages.reduce((sum, { content }) => sum + content.length + 1, 0);
}

function encoderOf() {
  let encodings = 0;
  const encode = ({ prompt }: TextGenerationRequest): EncodedPrompt => {
    encodings++;
    const messages = 'messages' in prompt ? prompt.messages : [];
    const length = lengthOf(messages);
    if (length >= contextLength) throw contextOverflow(contextLength, { counted: String(length) });
    return { promptIds: new Int32Array(length) } as EncodedPrompt;
  };
  return { encode, count: () => encodings };
}

const message = (role: string, length: number, more: Partial<ChatTemplateMessage> = {}): ChatTemplateMessage => {
  return { role, content: 'x'.repeat(length), ...more };
};

function requestOf(messages: ChatTemplateMessage[], members: Partial<TextGenerationRequest> = {}) {
  const sampling = { n: 1, sampling: {}, stop: [], stopTokenIds: [], topLogprobs: null };
  return { id: 'r', prompt: { messages }, ...sampling, truncates: true, ...members };
}

function keptOf(messages: ChatTemplateMessage[], members: Partial<TextGenerationRequest> = {}): number[] {
  const { request } = encodeTruncated(encoderOf(), requestOf(messages, members), contextLength);
  const { prompt } = request;
  return 'messages' in prompt ? prompt.messages.map((kept) => messages.indexOf(kept)) : [];
}

describe('a conversation that is truncated', () => {
  const system = message('system', 10);

  it('stays whole where it fits, and leaves room for the output', () => {
    const short = [system, message('user', 20), message('assistant', 20), message('user', 20)];
    expect(keptOf(short)).toEqual([0, 1, 2, 3]);
    const longer = [...short, message('assistant', 2), message('user', 2)];
    expect(keptOf(longer, { maxTokens: 5 })).toEqual([0, 1, 2, 3, 4, 5]);
    expect(keptOf(longer)).toEqual([0, 3, 4, 5]);
  });

  it('loses its oldest turns, never its instructions', () => {
    const turns = Array.from({ length: 8 }, () => [message('user', 10), message('assistant', 10)]).flat();
    expect(keptOf([system, message('system', 10), ...turns, message('user', 5)])).toEqual([0, 1, 14, 15, 16, 17, 18]);
  });

  it('keeps results with their calls in a long turn of tools', () => {
    const round = () => [message('assistant', 5), message('tool', 12), message('tool', 12)];
    const messages = [system, message('user', 30), ...round(), ...round(), ...round()];
    expect(keptOf(messages)).toEqual([0, 5, 6, 7, 8, 9, 10]);
    expect(keptOf([...messages, message('assistant', 8)])).toEqual([0, 8, 9, 10, 11]);
  });

  it('loses the images of the messages that it loses', () => {
    const image = (hash: string) => ({ hash }) as PromptImage;
    const messages = [
      message('user', 60, { imagePositions: [0, 1] }),
      message('assistant', 30),
      message('user', 5, { imagePositions: [0] }),
    ];
    const prompt = { messages, images: [image('a'), image('b'), image('c')] };
    const { request } = encodeTruncated(encoderOf(), { ...requestOf(messages), prompt }, contextLength);
    expect(request.prompt).toEqual({ messages: messages.slice(2), images: [image('c')] });
  });

  it('is refused where its last message does not fit, and where it is not to be truncated', () => {
    const messages = [message('user', 50), message('assistant', 10), message('user', 120)];
    expect(() => keptOf(messages)).toThrow(expect.objectContaining({ code: 'TOO_MANY_TOKENS' }));
    const old = [message('user', 120), message('assistant', 1), message('user', 1)];
    expect(() => keptOf(old, { truncates: false })).toThrow(expect.objectContaining({ code: 'TOO_MANY_TOKENS' }));
    expect(keptOf(old)).toEqual([2]);
  });

  it('loses no more than it must, in a number of attempts that grows with the logarithm of its messages', () => {
    const turn = fc.tuple(fc.constantFrom('user', 'assistant', 'tool'), fc.integer({ min: 0, max: 30 }));
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 200 }), (turns) => {
        const messages = turns.map(([role, length]) => message(role, length));
        const encoder = encoderOf();
        // What it cannot lose: the last message, with the results of tools behind it.
        const last = messages.slice(
          Math.max(
            0,
            messages.findLastIndex(({ role }) => role !== 'tool'),
          ),
        );
        fc.pre(lengthOf(last) < contextLength);
        const { request } = encodeTruncated(encoder, requestOf(messages, { maxTokens: 1 }), contextLength);
        const kept = 'messages' in request.prompt ? request.prompt.messages : [];
        expect(messages.slice(messages.length - kept.length)).toEqual(kept);
        expect(lengthOf(kept)).toBeLessThan(contextLength);
        expect(encoder.count()).toBeLessThanOrEqual(12);
      }),
    );
  });
});
