import type { ChatJobPayload } from '../contract/chat.job.js';
import type { NormalizedChat } from './chat.normalizer.js';
import { boundChat, type ChatBounds } from '../contract/chat.meter.js';

/**
 * What a chat asks of a token limit: the most it can use. A caller who has named no bound of the output leaves it to
 * us, down to a token per choice.
 */
export function chatDemand(
  { payload, boundsOutput }: Pick<NormalizedChat, 'payload' | 'boundsOutput'>,
  reach: ChatBounds,
): { min: number; max: number } {
  const { promptTokens, completionTokens } = boundChat(payload, reach);
  const max = promptTokens + completionTokens;
  return { min: boundsOutput ? max : promptTokens + payload.n, max };
}

/** The same chat with its output bound so low that it cannot use more than `tokens`, which is its `least` or more. */
export function boundChatToTokens(payload: ChatJobPayload, reach: ChatBounds, tokens: number): ChatJobPayload {
  const { promptTokens, completionTokens } = boundChat(payload, reach);
  if (promptTokens + completionTokens <= tokens) return payload;
  return { ...payload, maxTokens: Math.floor((tokens - promptTokens) / payload.n) };
}
