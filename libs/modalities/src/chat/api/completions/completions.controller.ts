import { Controller, Post } from '@nestjs/common';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { Exchange, type HttpExchange, type StreamedResponse, RequestBody } from '#platform/http';
import { CompletionRequest } from '../../contract/completions/completion.request.js';
import type { CompletionResponse } from '../../contract/completions/completion.response.js';
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
    private readonly pipeline: RequestPipeline,
    private readonly chats: ChatStarter,
  ) {}

  @Post('completions')
  @ModelRoute(completionsDocument)
  async complete(
    @RequestBody(CompletionRequest) body: CompletionRequest,
    @Exchange() http: HttpExchange,
  ): Promise<CompletionResponse | StreamedResponse> {
    const { id: requestId } = http.request;
    const translated = translateCompletion(body);
    const responseId = completionId(requestId);
    const { chat, job } = await this.chats.start(http, translated.chat, { responseId, raw: translated.raw });
    const head = completionHead(requestId, chat, job.quote);
    if (body.stream === true) {
      const includeUsage = body.stream_options?.include_usage === true;
      return this.pipeline.stream(job, new CompletionChunkPresenter(head, includeUsage));
    }
    const { collected, usage } = await collectEvents(job, () => new CompletionCollector(head));
    return collected.completion(usage);
  }
}
