import 'reflect-metadata';
import { type ChatJobPayload, chatJob } from '#modalities/chat/contract';
import { plainChat } from '#test/plain-chat';

/** Jobs a worker runs at once, on both sides. */
export const workerConcurrency = chatJob.policy.concurrency;

/** A chat of ordinary size, the same for all contestants. */
export function benchPayload(): ChatJobPayload {
  return plainChat({
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Tell me a short story about a fox who finds a lantern in the snow.' },
    ],
    sampling: { temperature: 0.7, topP: 0.95 },
    maxTokens: 256,
  });
}
