import { Inject, Injectable } from '@nestjs/common';
import { type HttpExchange, RequestPipeline } from '#gateway';
import { ApiConfig } from '#platform/config';
import type { ChatEvent } from '../contract/chat.events.js';
import { type ChatJobPayload, chatJob } from '../contract/chat.job.js';
import type { ChatMessage } from '../contract/chat.message.js';
import { affordableChat, minChatNano } from '../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../contract/chat.request.js';
import { affinityOf } from './chat.affinity.js';
import { boundChatToTokens, chatDemand } from './chat.demand.js';
import { chatModel, normalizeChat } from './chat.normalizer.js';
import { refuseSealed } from './chat.support.js';
import { ChatInputs } from './inputs/chat-inputs.js';
import { InputAdapters } from './inputs/input-adapters.js';

/** Starts the job of a chat request; both wire formats of chat lead here. */
@Injectable()
export class ChatStarter {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: Pick<RequestPipeline, 'open'>,
    @Inject(ChatInputs) private readonly inputs: ChatInputs,
    @Inject(InputAdapters) private readonly adapters: InputAdapters,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'chatDeadlineMs'>,
  ) {}

  /** Rejects as the stages of the pipeline and `normalizeChat` do; nothing is charged then. */
  async start(http: HttpExchange, wire: ChatCompletionRequest) {
    const opened = await this.pipeline.open(http, { name: wire.model, type: 'text' });
    refuseSealed(http.request, opened.manifest);
    const model = chatModel(opened.resolved);
    // Everything that costs nothing is checked before a part is read.
    const checked = normalizeChat(wire, model);
    const adapted = this.adapters.plan(await this.inputs.prepare(wire.messages, opened), opened);
    const normalize = (messages: ChatMessage[]) =>
      messages === wire.messages ? checked : normalizeChat({ ...wire, messages }, model);
    const bounded = normalize(adapted.bounded);
    const limited = await opened.limit({ tokens: chatDemand(bounded, model) });
    const pricing = limited.price.pricing;
    const minNano = (messages: ChatMessage[]) => minChatNano(normalize(messages).payload, { ...model, pricing });
    const chat = adapted.isEmpty ? bounded : normalize(await adapted.run({ minNano }));
    const payload = boundChatToTokens(chat.payload, model, limited.tokens);
    const job = await limited.start<ChatJobPayload, ChatEvent>(
      {
        definition: chatJob,
        deadlineMs: this.config.chatDeadlineMs,
        affinity: affinityOf(payload),
        ...affordableChat(payload, { ...model, pricing }),
      },
      { stream: wire.stream === true },
    );
    return { chat, job };
  }
}
