import { Inject, Injectable } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import type { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { OutputOptions } from './output-builder.js';
import { type ResponsesContext, wantsEncryptedReasoning } from './responses.normalizer.js';
import { SealedReasoning } from './sealed-reasoning.js';

/** What a Responses request needs beside its own fields: the account's keys and earlier responses. */
@Injectable()
export class ResponsesOptions {
  private readonly reasoning: SealedReasoning;

  constructor(@Inject(ApiConfig) { secretKey }: Pick<ApiConfig, 'secretKey'>) {
    this.reasoning = new SealedReasoning(secretKey);
  }

  async contextOf(_request: ResponsesRequest, accountId: string): Promise<ResponsesContext> {
    return { history: [], openReasoning: (content) => this.reasoning.open(accountId, content) };
  }

  /** How the output of a request is presented. */
  outputOf(
    request: ResponsesRequest,
    { requestId, accountId }: { requestId: string; accountId: string },
  ): OutputOptions {
    return {
      requestId,
      withLogprobs: request.include?.includes('message.output_text.logprobs') === true,
      asSummary: (request.reasoning?.summary ?? null) !== null,
      sealReasoning: wantsEncryptedReasoning(request) ? (text) => this.reasoning.seal(accountId, text) : null,
    };
  }
}
