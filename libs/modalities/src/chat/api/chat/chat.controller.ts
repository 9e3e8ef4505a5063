import { Controller, Post } from '@nestjs/common';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { Exchange, type HttpExchange, type StreamedResponse, RequestBody } from '#platform/http';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatCompletionResponse } from '../../contract/chat.response.js';
import { chatDocument } from './chat.document.js';
import { ChatChunkPresenter, ChatCompletionCollector, chatHead, chatId } from './chat.presenter.js';
import { ChatStarter } from './chat.starter.js';

@Controller('chat')
export class ChatController {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly chats: ChatStarter,
  ) {}

  @Post('completions')
  @ModelRoute(chatDocument)
  async complete(
    @RequestBody(ChatCompletionRequest) body: ChatCompletionRequest,
    @Exchange() http: HttpExchange,
  ): Promise<ChatCompletionResponse | StreamedResponse> {
    const { id: requestId } = http.request;
    const { chat, job } = await this.chats.start(http, body, { responseId: chatId(requestId), mayBeSealed: true });
    const head = chatHead(requestId, chat, job.quote);
    if (body.stream === true) {
      const includeUsage = body.stream_options?.include_usage === true;
      return this.pipeline.stream(job, new ChatChunkPresenter(head, includeUsage));
    }
    const { collected, usage } = await collectEvents(job, () => new ChatCompletionCollector(head));
    return collected.completion(usage);
  }
}
