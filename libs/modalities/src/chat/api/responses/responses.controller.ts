import { Controller, HttpCode, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ModelRoute, RequestPipeline } from '#gateway';
import { WireBody } from '#platform/http';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import { inputTokensDocument, responsesDocument } from './responses.document.js';
import { ResponsesService } from './responses.service.js';

@Controller()
export class ResponsesController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: Pick<RequestPipeline, 'handle'>,
    @Inject(ResponsesService) private readonly responses: ResponsesService,
  ) {}

  @Post('responses/input_tokens')
  @HttpCode(200)
  @ModelRoute(inputTokensDocument, { free: true })
  async countInput(@WireBody(ResponsesRequest) body: ResponsesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.responses.countInput(http, body));
  }

  @Post('responses')
  @ModelRoute(responsesDocument)
  async create(@WireBody(ResponsesRequest) body: ResponsesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.responses.create(http, body));
  }
}
