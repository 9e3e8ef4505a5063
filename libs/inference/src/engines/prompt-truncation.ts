import { PlatformError } from '#common';
import type { ChatPrompt, ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';
import type { EncodedPrompt, PromptEncoder } from './prompt-encoder.js';

/** Part of the context that is left for the output, at most. */
const maxOutputShare = 1 / 4;

/**
 * Encodes a prompt; where it does not fit, the conversation loses its oldest messages until it does. System messages at
 * its beginning stay, calls stay with their results, and turns of the user are dropped as a whole while that is enough.
 * The result leaves `maxTokens` for the output, up to a quarter of the context. Throws as `PromptEncoder.encode` where
 * the last message alone does not fit.
 */
export function encodeTruncated(
  encoder: Pick<PromptEncoder, 'encode'>,
  request: TextGenerationRequest,
  contextLength: number,
): { request: TextGenerationRequest; encoded: EncodedPrompt } {
  const { prompt, maxTokens = contextLength } = request;
  if (request.truncates !== true || !('messages' in prompt)) return { request, encoded: encoder.encode(request) };
  const most = contextLength - Math.min(maxTokens, Math.floor(contextLength * maxOutputShare));
  const attempt = (from: number) => {
    const shortened = { ...request, prompt: withoutBefore(prompt, from) };
    const encoded = encodeOrNull(encoder, shortened);
    return encoded !== null && encoded.promptIds.length <= most ? { request: shortened, encoded } : null;
  };
  const starts = startsOf(prompt.messages);
  let found = attempt(starts[0] ?? 0);
  // Where a start is late enough, every later one is too.
  let [low, high] = [0, starts.length - 1];
  while (found === null && low < high) {
    const middle = Math.floor((low + high) / 2);
    if (attempt(starts[middle] ?? 0) === null) low = middle + 1;
    else high = middle;
  }
  found ??= attempt(starts[high] ?? 0);
  if (found !== null) return found;
  const last = { ...request, prompt: withoutBefore(prompt, starts.at(-1) ?? 0) };
  return { request: last, encoded: encoder.encode(last) };
}

/**
 * The messages that a conversation may begin with, in order: the first, those of the user, and behind the last of these
 * every message that is no result of a tool.
 */
function startsOf(messages: readonly ChatTemplateMessage[]): number[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  if (first < 0) return [0];
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return [...messages.keys()].filter((index) => {
    const role = messages[index]?.role;
    return index === first || (index > first && (role === 'user' || (index > last && role !== 'tool')));
  });
}

/** System messages at the beginning are the instructions, which stay. */
function withoutBefore(prompt: ChatPrompt, from: number): ChatPrompt {
  const { messages, images } = prompt;
  const leading = messages.findIndex(({ role }) => role !== 'system');
  const isKept = (_: ChatTemplateMessage, index: number): boolean => index >= from || index < leading;
  const isImageKept = messages.flatMap((message, index) =>
    (message.imagePositions ?? []).map(() => isKept(message, index)),
  );
  return {
    ...prompt,
    messages: messages.filter(isKept),
    ...(images === undefined ? {} : { images: images.filter((_, index) => isImageKept[index] !== false) }),
  };
}

function encodeOrNull(encoder: Pick<PromptEncoder, 'encode'>, request: TextGenerationRequest): EncodedPrompt | null {
  try {
    return encoder.encode(request);
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'TOO_MANY_TOKENS') return null;
    throw error;
  }
}
