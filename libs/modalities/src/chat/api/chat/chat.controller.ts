import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { WireBody } from '#platform/http';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import { chatDocument } from './chat.document.js';
import { ChatChunkPresenter, ChatCompletionCollector, chatHead, chatId } from './chat.presenter.js';
import { ChatStarter } from './chat.starter.js';

@Controller('chat')
export class ChatController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ChatStarter) private readonly chats: ChatStarter,
  ) {}

  @Post('completions')
  @ModelRoute(chatDocument)
  async complete(
    @WireBody(ChatCompletionRequest) wire: ChatCompletionRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const { chat, job } = await this.chats.start(http, wire, {
        responseId: chatId(reply.request.id),
        mayBeSealed: true,
      });
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
