import type { ChatMessage } from '../../contract/chat.message.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatModel } from './chat.model.js';
import { normalizeChat, type NormalizedChat, type RawPrompts } from './chat.normalizer.js';

/** A request that its model can answer. With other messages, its schemas are not examined again. */
export class CheckedChat {
  /** The request as its client wrote it. */
  readonly chat: NormalizedChat;

  /** Throws as `normalizeChat` does. Nothing is read, run or charged. */
  constructor(
    readonly request: ChatCompletionRequest,
    readonly model: ChatModel,
    private readonly raw: RawPrompts = {},
  ) {
    this.chat = normalizeChat(request, model, raw);
  }

  /** Returns the request with other messages. Throws as `normalizeChat` does. */
  with(messages: ChatMessage[]): NormalizedChat {
    if (messages === this.request.messages) return this.chat;
    return normalizeChat({ ...this.request, messages }, this.model, this.raw, this.chat);
  }
}
