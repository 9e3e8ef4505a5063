import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { callerOf, WireBody } from '#platform/http';
import { ResponsesRequest } from '../contract/responses/responses.request.js';
import { ChatStarter } from './chat.starter.js';
import { responsesDocument } from './responses/responses.document.js';
import { translateResponses } from './responses/responses.normalizer.js';
import { ResponsesOptions } from './responses/responses.options.js';
import { ResponsesCollector, ResponsesStreamPresenter } from './responses/responses.presenter.js';
import { responsesHead } from './responses/responses.resource.js';

/** Chat in the Responses wire format; below the presenter it is a chat. */
@Controller()
export class ResponsesController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ChatStarter) private readonly chats: ChatStarter,
    @Inject(ResponsesOptions) private readonly options: ResponsesOptions,
  ) {}

  @Post('responses')
  @ModelRoute(responsesDocument)
  async create(@WireBody(ResponsesRequest) request: ResponsesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const { accountId } = callerOf(reply.request);
      const translated = translateResponses(request, (content) => this.options.openReasoning(accountId, content));
      const { names } = translated;
      return await names.within(async () => {
        const { chat, job } = await this.chats.start(http, translated.chat);
        const requestId = reply.request.id;
        const modelId = job.quote.price.modelId;
        const head = responsesHead({ ...translated, request, chat, requestId, modelId });
        const output = this.options.outputOf(request, { requestId, accountId });
        if (request.stream === true) {
          return await this.pipeline.stream(http, job, new ResponsesStreamPresenter(head, names, output));
        }
        const { collected, usage } = await collectEvents(job, () => new ResponsesCollector(head, output));
        return collected.response(usage);
      });
    });
  }
}
