import type { ChatJobPayload } from '#modalities/chat/contract';

/** A chat as the queue carries it: a greeting and no wishes, but for those given. */
export function plainChat(wishes: Partial<ChatJobPayload> = {}): ChatJobPayload {
  return {
    messages: [{ role: 'user', content: 'Hello' }],
    sampling: {},
    n: 1,
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    stripThinking: false,
    ...wishes,
  };
}
