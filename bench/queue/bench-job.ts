import 'reflect-metadata';
import { type ChatJobPayload, chatJob } from '#modalities/chat/contract';

/** Jobs a worker runs at once, on both sides. */
export const workerConcurrency = chatJob.policy.concurrency;

/** A chat of ordinary size, the same for all contestants. */
export function benchPayload(): ChatJobPayload {
  return {
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Tell me a short story about a fox who finds a lantern in the snow.' },
    ],
    sampling: { temperature: 0.7, topP: 0.95 },
    n: 1,
    maxTokens: 256,
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    stripThinking: false,
  };
}
