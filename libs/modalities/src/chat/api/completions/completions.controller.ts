import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { WireBody } from '#platform/http';
import { CompletionRequest } from '../../contract/completions/completion.request.js';
import { ChatStarter } from '../chat/chat.starter.js';
import { completionsDocument } from './completions.document.js';
import { translateCompletion } from './completions.normalizer.js';
import {
  CompletionChunkPresenter,
  CompletionCollector,
  completionHead,
  completionId,
} from './completions.presenter.js';

/** Texts without a conversation; between translation and presenter they are a chat. */
@Controller()
export class CompletionsController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ChatStarter) private readonly chats: ChatStarter,
  ) {}

  @Post('completions')
  @ModelRoute(completionsDocument)
  async complete(@WireBody(CompletionRequest) wire: CompletionRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const translated = translateCompletion(wire);
      const responseId = completionId(reply.request.id);
      const { chat, job } = await this.chats.start(http, translated.chat, { responseId, raw: translated.raw });
      const head = completionHead(reply.request.id, chat, job.quote);
      if (wire.stream === true) {
        const includeUsage = wire.stream_options?.include_usage === true;
        return await this.pipeline.stream(http, job, new CompletionChunkPresenter(head, includeUsage));
      }
      const { collected, usage } = await collectEvents(job, () => new CompletionCollector(head));
      return collected.completion(usage);
    });
  }
}
