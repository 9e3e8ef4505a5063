import { describe, expect, it } from 'vitest';
import { plainChat } from '#test/plain-chat';
import { boundChat } from '../../contract/chat.meter.js';
import { chatDemand, boundChatToTokens } from './chat.demand.js';

const reach = { contextLength: 4_096, maxCompletionTokens: 1_000 };
const chat = plainChat({ n: 2 });
const { promptTokens } = boundChat(chat, reach);

describe('the tokens that a chat reserves of its limit', () => {
  it('are its worst case, or one token per choice if the client set no output bound', () => {
    expect(chatDemand({ payload: chat, boundsOutput: false }, reach)).toEqual({
      min: promptTokens + 2,
      max: promptTokens + 2_000,
    });
  });

  it('are only the worst case if the client set a bound', () => {
    const max = promptTokens + 2 * 300;
    expect(chatDemand({ payload: { ...chat, maxTokens: 300 }, boundsOutput: true }, reach)).toEqual({
      min: max,
      max,
    });
  });

  it('are met by lowering the output bound no more than needed', () => {
    for (const tokens of [promptTokens + 2, promptTokens + 3, promptTokens + 777, promptTokens + 1_999]) {
      const held = boundChatToTokens(chat, reach, tokens);
      const { max } = chatDemand({ payload: held, boundsOutput: true }, reach);
      expect(max).toBeLessThanOrEqual(tokens);
      expect(tokens - max).toBeLessThan(chat.n);
    }
    expect(boundChatToTokens(chat, reach, promptTokens + 2_000)).toBe(chat);
  });
});
