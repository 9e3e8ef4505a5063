import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { callerOf, WireBody } from '#platform/http';
import { ResponsesRequest } from '../contract/responses/responses.request.js';
import { ChatStarter } from './chat.starter.js';
import { ResponseHistory } from './responses/response-history.js';
import { responsesDocument } from './responses/responses.document.js';
import { translateResponses } from './responses/responses.normalizer.js';
import { ResponsesOptions } from './responses/responses.options.js';
import { ResponsesCollector, ResponsesStreamPresenter, storedPresenter } from './responses/responses.presenter.js';
import { responsesHead, responsesId } from './responses/responses.resource.js';
import { webWarnings } from './responses/url-citations.js';

/** Chat in the Responses wire format; below the presenter it is a chat. */
@Controller()
export class ResponsesController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ChatStarter) private readonly chats: ChatStarter,
    @Inject(ResponsesOptions) private readonly options: ResponsesOptions,
    @Inject(ResponseHistory) private readonly history: ResponseHistory,
  ) {}

  @Post('responses')
  @ModelRoute(responsesDocument)
  async create(@WireBody(ResponsesRequest) wire: ResponsesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const { accountId } = callerOf(reply.request);
      const requestId = reply.request.id;
      const { request, history, store } = await this.history.open(wire, { accountId, requestId });
      const openReasoning = (content: string) => this.options.openReasoning(accountId, content);
      const translated = translateResponses(request, openReasoning, history);
      const { names } = translated;
      return await names.within(async () => {
        const { chat, job, webCalls } = await this.chats.start(http, translated.chat, {
          responseId: responsesId(requestId),
        });
        const modelId = job.quote.price.modelId;
        const warnings = [...translated.warnings, ...webWarnings(chat.parameters)];
        const head = responsesHead({
          ...translated,
          warnings,
          request,
          chat,
          requestId,
          modelId,
          isStored: store !== null,
        });
        const sources = chat.parameters.web_search_citations;
        const output = { ...this.options.outputOf(request, { requestId, accountId }), sources, webCalls };
        if (request.stream === true) {
          const presenter = new ResponsesStreamPresenter(head, names, output);
          return await this.pipeline.stream(http, job, store === null ? presenter : storedPresenter(presenter, store));
        }
        const { collected, usage } = await collectEvents(job, () => new ResponsesCollector(head, output));
        const response = collected.response(usage);
        return store === null ? response : await store(response);
      });
    });
  }
}
