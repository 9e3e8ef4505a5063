import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import { boundChat, type ChatBounds, choiceCount } from '../../contract/chat.meter.js';

/**
 * Returns the tokens that a chat can use. Without an output bound from the client, the minimum is one token per choice.
 */
export function chatDemand(
  { payload, boundsOutput }: Pick<NormalizedChat, 'payload' | 'boundsOutput'>,
  limits: ChatBounds,
): { min: number; max: number } {
  const { promptTokens, completionTokens } = boundChat(payload, limits);
  const max = promptTokens + completionTokens;
  return { min: boundsOutput ? max : promptTokens + choiceCount(payload), max };
}

/**
 * Lowers the output bound of a chat so that it uses at most `tokens`, which is its `min` or more. One token is left for
 * each choice: the transcript of an input may be longer than expected.
 */
export function boundChatToTokens(payload: ChatJobPayload, limits: ChatBounds, tokens: number): ChatJobPayload {
  const { promptTokens, completionTokens } = boundChat(payload, limits);
  if (promptTokens + completionTokens <= tokens) return payload;
  return { ...payload, maxTokens: Math.max(1, Math.floor((tokens - promptTokens) / choiceCount(payload))) };
}
