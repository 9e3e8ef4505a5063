import 'reflect-metadata';
import { type ChatJobPayload, chatJob } from '#modalities/chat/contract';
import { plainChat } from '#test/plain-chat';

/** Concurrent jobs of a worker, for both subjects. */
export const workerConcurrency = chatJob.policy.concurrency;

/** Payloads and replies are sealed, as `npm start` and the images have it. */
export const sealKeys = ['5e'.repeat(32)];

/** A chat of typical size, the same for all subjects. */
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
