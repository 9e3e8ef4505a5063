import { describe, expect, it } from 'vitest';
import { plainChat } from '#test/plain-chat';
import { boundChat } from '../contract/chat.meter.js';
import { chatDemand, holdChat } from './chat.demand.js';

const reach = { contextLength: 4_096, maxCompletionTokens: 1_000 };
const chat = plainChat({ n: 2 });
const { promptTokens } = boundChat(chat, reach);

describe('what a chat asks of a token limit', () => {
  it('is its worst case, and a token per choice where the caller left the output to us', () => {
    expect(chatDemand({ payload: chat, boundsOutput: false }, reach)).toEqual({
      least: promptTokens + 2,
      most: promptTokens + 2_000,
    });
  });

  it('is the worst case alone where the caller has named a bound', () => {
    const most = promptTokens + 2 * 300;
    expect(chatDemand({ payload: { ...chat, maxTokens: 300 }, boundsOutput: true }, reach)).toEqual({
      least: most,
      most,
    });
  });

  it('is kept by lowering the output bound, never by more than needed', () => {
    for (const tokens of [promptTokens + 2, promptTokens + 3, promptTokens + 777, promptTokens + 1_999]) {
      const held = holdChat(chat, reach, tokens);
      const { most } = chatDemand({ payload: held, boundsOutput: true }, reach);
      expect(most).toBeLessThanOrEqual(tokens);
      expect(tokens - most).toBeLessThan(chat.n);
    }
    expect(holdChat(chat, reach, promptTokens + 2_000)).toBe(chat);
  });
});
