import { Injectable } from '@nestjs/common';
import { JobQuote } from '#billing';
import { PlatformError } from '#common';
import { invalidField, JobRunner } from '#gateway';
import { ApiConfig } from '#platform/config';
import { callerOf, type HttpExchange } from '#platform/http';
import type { ChatEvent } from '../../contract/chat.events.js';
import { chatJob, type ChatJobPayload } from '../../contract/chat.job.js';
import { boundChat } from '../../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import { CacheScopes } from '../job/cache-scopes.js';
import { CheckedChat } from '../job/checked-chat.js';
import { ChatInputs } from '../inputs/chat-inputs.js';
import { InputAdapters } from '../inputs/input-adapters.js';
import { ChatResolver, type ChatRouteOptions } from './chat.resolver.js';

/**
 * Counts the tokens of prompts: a worker renders and tokenizes them as it does for a response, and computes nothing. The
 * count is limited as a request and costs nothing.
 */
@Injectable()
export class PromptCounter {
  constructor(
    private readonly resolver: ChatResolver,
    private readonly inputs: ChatInputs,
    private readonly adapters: InputAdapters,
    private readonly cacheScopes: CacheScopes,
    private readonly runner: JobRunner,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Returns the tokens of a chat's prompt, without what the web or documents of a character would add. Rejects as
   * `ChatStarter.start` does, and with `INVALID_REQUEST` for a part that another model would have to read first.
   */
  async count(http: HttpExchange, request: ChatCompletionRequest, options: ChatRouteOptions): Promise<number> {
    const { opened, model } = await this.resolver.resolve(http, request, options);
    const checked = new CheckedChat(request, model);
    const limited = await opened.limit();
    const readable = await this.inputs.prepare(request.messages, opened);
    const [unread] = this.adapters.plan(readable, opened).params;
    if (unread !== undefined) {
      const message = `${unread} cannot be counted: another model has to turn it into text first.`;
      throw invalidField(message, unread, 'unsupported');
    }
    const account = callerOf(http.request);
    const { payload: chat } = checked.with(readable);
    const payload: ChatJobPayload = {
      ...chat,
      n: 1,
      maxTokens: 0,
      countsOnly: true,
      caller: this.cacheScopes.accountLabelOf(account),
    };
    const bounds = boundChat(payload, model);
    let tokens: number | null = null;
    const job = {
      ...{
        requestId: http.request.id,
        caller: account,
        definition: chatJob,
        modelId: opened.manifest.id,
        payload,
        bounds,
      },
      quote: new JobQuote(0n, { ...limited.price, pricing: null }, bounds),
      ...{ deadlineMs: this.config.chatDeadlineMs, disconnected: http.disconnected },
    };
    await this.runner.run<ChatEvent>(job, (event) => {
      if (event.type === 'prompt-ready') tokens = event.promptTokens;
    });
    if (tokens === null) throw new PlatformError('INFERENCE_FAILED', 'The worker did not count the prompt.');
    return tokens;
  }
}
