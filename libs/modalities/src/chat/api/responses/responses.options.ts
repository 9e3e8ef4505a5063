import { Inject, Injectable } from '@nestjs/common';
import { AccountCipher } from '#gateway';
import { ApiConfig } from '#platform/config';
import type { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { OutputOptions } from './output-builder.js';
import { wantsEncryptedReasoning } from './responses.normalizer.js';

/** What a Responses request needs beside its own fields: the keys of its account. */
@Injectable()
export class ResponsesOptions {
  private readonly reasoning: AccountCipher;

  constructor(@Inject(ApiConfig) { secretKeys }: Pick<ApiConfig, 'secretKeys'>) {
    this.reasoning = new AccountCipher(secretKeys, 'reasoning items');
  }

  /** Decrypts the reasoning of an earlier response; null if it is not this account's. */
  openReasoning(accountId: string, content: string): string | null {
    return this.reasoning.open(accountId, content);
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
      withWebSources: request.include?.includes('web_search_call.action.sources') === true,
      sealReasoning: wantsEncryptedReasoning(request) ? (text) => this.reasoning.seal(accountId, text) : null,
    };
  }
}
