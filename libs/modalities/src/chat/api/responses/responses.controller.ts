import { Controller, Post } from '@nestjs/common';
import { ModelRoute } from '#gateway';
import { Exchange, type HttpExchange, LargeBody, type StreamedResponse, RequestBody } from '#platform/http';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { ResponsesInputTokens, ResponsesResponse } from '../../contract/responses/responses.response.js';
import { inputTokensDocument, responsesDocument } from './responses.document.js';
import { ResponsesService } from './responses.service.js';

@Controller()
export class ResponsesController {
  constructor(private readonly responses: ResponsesService) {}

  @Post('responses/input_tokens')
  @LargeBody()
  @ModelRoute(inputTokensDocument, { free: true })
  async countInput(
    @RequestBody(ResponsesRequest) body: ResponsesRequest,
    @Exchange() http: HttpExchange,
  ): Promise<ResponsesInputTokens> {
    return await this.responses.countInput(http, body);
  }

  @Post('responses')
  @ModelRoute(responsesDocument)
  async create(
    @RequestBody(ResponsesRequest) body: ResponsesRequest,
    @Exchange() http: HttpExchange,
  ): Promise<ResponsesResponse | StreamedResponse> {
    return await this.responses.create(http, body);
  }
}
