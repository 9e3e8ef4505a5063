import type { ChatJobPayload } from '#modalities/chat/contract';

/** A minimal chat payload as the queue carries it, with overrides. */
export function plainChat(overrides: Partial<ChatJobPayload> = {}): ChatJobPayload {
  return {
    messages: [{ role: 'user', content: 'Hello' }],
    sampling: {},
    n: 1,
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    stripThinking: false,
    ...overrides,
  };
}
