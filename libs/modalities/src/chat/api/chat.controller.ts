import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { ApiConfig } from '#platform/config';
import { WireBody } from '#platform/http';
import type { ChatEvent } from '../contract/chat.events.js';
import { type ChatJobPayload, chatJob } from '../contract/chat.job.js';
import { affordableChat, minChatNano } from '../contract/chat.meter.js';
import type { ChatMessage } from '../contract/chat.message.js';
import { ChatCompletionRequest } from '../contract/chat.request.js';
import { affinityOf } from './chat.affinity.js';
import { boundChatToTokens, chatDemand } from './chat.demand.js';
import { chatDocument } from './chat.document.js';
import { chatModel, normalizeChat } from './chat.normalizer.js';
import { ChatChunkPresenter, ChatCompletionCollector, chatHead } from './chat.presenter.js';
import { refuseSealed } from './chat.support.js';
import { InputAdapters } from './inputs/input-adapters.js';
import { ChatInputs } from './inputs/chat-inputs.js';

@Controller('chat')
export class ChatController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ChatInputs) private readonly inputs: ChatInputs,
    @Inject(InputAdapters) private readonly adapters: InputAdapters,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'chatDeadlineMs'>,
  ) {}

  @Post('completions')
  @ModelRoute(chatDocument)
  async complete(
    @WireBody(ChatCompletionRequest) wire: ChatCompletionRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const opened = await this.pipeline.open(http, { name: wire.model, type: 'text' });
      refuseSealed(reply.request, opened.manifest);
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
      const head = chatHead(reply.request.id, chat, job.quote);
      if (wire.stream === true) {
        const includeUsage = wire.stream_options?.include_usage === true;
        return await this.pipeline.stream(http, job, new ChatChunkPresenter(head, includeUsage));
      }
      const { collected, usage } = await collectEvents(job, () => new ChatCompletionCollector(head));
      return collected.completion(usage);
    });
  }
}
