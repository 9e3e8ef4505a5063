import { Injectable } from '@nestjs/common';
import { collectEvents, RequestPipeline } from '#gateway';
import type { HttpExchange, StreamedResponse } from '#platform/http';
import type { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { ResponsesInputTokens, ResponsesResponse } from '../../contract/responses/responses.response.js';
import { ChatStarter } from '../chat/chat.starter.js';
import { PromptCounter } from '../chat/prompt-counter.js';
import { type OpenedRequest, ResponseHistory } from './response-history.js';
import { ResponsePresentation } from './response-presentation.js';
import { type TranslatedResponses, translateResponses } from './responses.normalizer.js';
import { ResponsesOptions } from './responses.options.js';
import { responsesId } from './responses.resource.js';

/** A request with everything that it refers to, and the chat request that it is. */
export type OpenedResponse = OpenedRequest & { translated: TranslatedResponses };

/** Chat in the Responses format: between translation and presenter it is a chat. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly chats: ChatStarter,
    private readonly options: ResponsesOptions,
    private readonly history: ResponseHistory,
    private readonly counter: PromptCounter,
  ) {}

  /** Counts the tokens of the input. Rejects as `PromptCounter.count` does, with the fields of the client. */
  async countInput(http: HttpExchange, body: ResponsesRequest): Promise<ResponsesInputTokens> {
    const { chat, names } = (await this.open(http, body)).translated;
    const tokens = await names.within(() => this.counter.count(http, chat, { serverToolsAreOptional: true }));
    return { object: 'response.input_tokens', input_tokens: tokens };
  }

  /** Returns the response, whole or as events. Rejects as `ChatStarter.start` does, with the fields of the client. */
  async create(http: HttpExchange, body: ResponsesRequest): Promise<ResponsesResponse | StreamedResponse> {
    const opened = await this.open(http, body);
    return await opened.translated.names.within(() => this.respond(http, opened));
  }

  private async open(http: HttpExchange, body: ResponsesRequest): Promise<OpenedResponse> {
    const { accountId } = http.caller;
    const opened = await this.history.open(body, { accountId, requestId: http.request.id });
    const openReasoning = (content: string) => this.options.openReasoning(accountId, content);
    return { ...opened, translated: translateResponses(opened.request, openReasoning, opened.history) };
  }

  private async respond(http: HttpExchange, opened: OpenedResponse): Promise<ResponsesResponse | StreamedResponse> {
    const { request, translated, store } = opened;
    const { names } = translated;
    const { id: requestId } = http.request;
    const { accountId } = http.caller;
    const presentation = new ResponsePresentation(opened, this.options.outputOf(request, { requestId, accountId }));
    const isStreamed = request.stream === true;
    const started = await this.chats.start(http, translated.chat, {
      responseId: responsesId(requestId),
      // Coding agents name the search of the web in every request.
      serverToolsAreOptional: true,
      truncates: request.truncation === 'auto',
      ...(isStreamed && { observeWeb: (chat) => presentation.observeWeb(http, chat) }),
    });
    if (isStreamed) {
      const stream = this.pipeline.stream(started.job, presentation.stream(started));
      return stream.within((send) => names.within(send));
    }
    const { collected, usage } = await collectEvents(started.job, presentation.collectors(started));
    const response = collected.response(usage);
    return store === null ? response : await store(response);
  }
}
