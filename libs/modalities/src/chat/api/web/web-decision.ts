import { Injectable } from '@nestjs/common';
import { JobRunner, type ModelRequest } from '#gateway';
import { ApiConfig } from '#platform/config';
import { callerOf } from '#platform/http';
import { Logger } from '#platform/logging';
import { CacheScopes } from '../job/cache-scopes.js';
import { writeFreely } from '../job/free-chat.js';
import { queryOf } from './web-request.js';

const instruction =
  'Decide whether the message below needs a web search: for news, prices, schedules, recent or local facts, or sources. ' +
  'Write JSON: whether to search, and the words to search for.';

/** The decision first: without a search the rest need not be written. */
const schema = {
  type: 'object',
  properties: { search: { type: 'boolean' }, query: { type: 'string', maxLength: 200 } },
  required: ['search', 'query'],
  additionalProperties: false,
};

const maxTokens = 96;
/** Longer messages are judged by their beginning. */
const maxMessageLength = 2_000;

/**
 * Asks the model of a chat whether to search, with an answer that is constrained to a yes or no and a query: every text
 * model writes that, whether it was trained to call tools or not. The job is free, because the chat that it is for pays
 * for what follows from it.
 */
@Injectable()
export class WebDecision {
  constructor(
    private readonly runner: JobRunner,
    private readonly cacheScopes: CacheScopes,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
  ) {}

  /** Returns what to search for; null if not to search, or if the model cannot say. Never rejects. */
  async decide(message: string, opened: ModelRequest, signal: AbortSignal): Promise<string | null> {
    const { http, manifest } = opened;
    try {
      const caller = callerOf(http.request);
      const written = await writeFreely(this.runner, {
        manifest,
        instruction,
        text: message.slice(0, maxMessageLength),
        settings: {
          sampling: { temperature: 0 },
          maxTokens,
          cacheScope: this.cacheScopes.labelOf(caller),
          format: { type: 'json-schema', schema, param: 'service_parameters.enable_web_search' },
        },
        price: await opened.price(),
        reservedNano: 0n,
        site: this.config.site,
        caller,
        deadlineMs: this.config.chatWebMs,
        disconnected: signal,
      });
      return readDecision(written);
    } catch (error) {
      if (!signal.aborted) this.logger.warn({ error }, 'a chat model did not decide on a web search');
      return null;
    }
  }
}

/** The query of a decision to search; null for any other text. */
export function readDecision(text: string): string | null {
  try {
    const { search, query } = JSON.parse(text) as { search?: unknown; query?: unknown };
    if (search !== true || typeof query !== 'string') return null;
    return queryOf(query) || null;
  } catch {
    return null;
  }
}
