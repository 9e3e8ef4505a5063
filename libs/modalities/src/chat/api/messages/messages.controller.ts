import { Controller, Post } from '@nestjs/common';
import { ModelRoute } from '#gateway';
import { Exchange, type HttpExchange, LargeBody, RequestBody, type StreamedResponse } from '#platform/http';
import { MessagesCountRequest, MessagesRequest } from '../../contract/messages/messages.request.js';
import type { MessagesResponse, MessagesTokenCount } from '../../contract/messages/messages.response.js';
import { countTokensDocument, messagesDocument } from './messages.document.js';
import { MessagesService } from './messages.service.js';

@Controller('messages')
export class MessagesController {
  constructor(private readonly messages: MessagesService) {}

  @Post()
  @ModelRoute(messagesDocument)
  async create(
    @RequestBody(MessagesRequest) body: MessagesRequest,
    @Exchange() http: HttpExchange,
  ): Promise<MessagesResponse | StreamedResponse> {
    return await this.messages.create(http, body);
  }

  @Post('count_tokens')
  @LargeBody()
  @ModelRoute(countTokensDocument, { free: true })
  async countTokens(
    @RequestBody(MessagesCountRequest) body: MessagesCountRequest,
    @Exchange() http: HttpExchange,
  ): Promise<MessagesTokenCount> {
    return await this.messages.countTokens(http, body);
  }
}
