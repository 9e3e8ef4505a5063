import { chatJob, type ChatJobPayload } from '#modalities/chat/contract';
import type { ReplyStream, QueueTransport } from '#queue';
import { plainChat } from './plain-chat.js';

/** A chat without an api before it: what the caller says in `content`, and what differs from the plainest payload. */
export interface QueuedChat extends Partial<Omit<ChatJobPayload, 'messages'>> {
  requestId: string;
  modelId: string;
  content: string;
}

/** Puts a chat into the queue as the api does, for a minute at most; its events come out of the slot. */
export async function askChat(
  api: QueueTransport,
  { requestId, modelId, content, ...wishes }: QueuedChat,
): Promise<ReplyStream> {
  const slot = api.replies.open(requestId);
  await api.producer.enqueue(chatJob, {
    requestId,
    modality: 'chat',
    modelId,
    attempt: 1,
    deadlineAtMs: Date.now() + 60_000,
    replyTo: api.replies.address,
    payload: plainChat({ messages: [{ role: 'user', content }], ...wishes }),
  });
  return slot;
}
