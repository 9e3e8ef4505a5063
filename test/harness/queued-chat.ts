import { chatJob, type ChatJobPayload } from '#modalities/chat/contract';
import type { ReplyStream, QueueTransport } from '#queue';
import { plainChat } from './plain-chat.js';

/** A chat without an API: the message in `content`, and overrides of the minimal payload. */
export interface QueuedChat extends Partial<Omit<ChatJobPayload, 'messages'>> {
  requestId: string;
  modelId: string;
  content: string;
}

/** Enqueues a chat like the API, with a deadline of one minute; its events arrive on the reply stream. */
export async function askChat(
  api: QueueTransport,
  { requestId, modelId, content, ...overrides }: QueuedChat,
): Promise<ReplyStream> {
  const slot = api.replies.open({ requestId, modelId });
  await api.producer.enqueue(chatJob, {
    requestId,
    modality: 'chat',
    modelId,
    attempt: 1,
    deadlineAtMs: Date.now() + 60_000,
    replyTo: api.replies.address,
    payload: plainChat({ messages: [{ role: 'user', content }], ...overrides }),
  });
  return slot;
}
