import { Injectable } from '@nestjs/common';
import type { LimitedModelRequest } from '#gateway';
import { ApiConfig } from '#platform/config';
import { callerOf, type HttpExchange } from '#platform/http';
import type { ChatEvent } from '../../contract/chat.events.js';
import { type ChatJobPayload, chatJob } from '../../contract/chat.job.js';
import { affordableChat } from '../../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import { ChatSources } from '../characters/chat-sources.js';
import { ChatInputs } from '../inputs/chat-inputs.js';
import { InputAdapters } from '../inputs/input-adapters.js';
import { CacheScopes } from '../job/cache-scopes.js';
import { CheckedChat } from '../job/checked-chat.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import { PromptSources } from '../job/prompt-source.js';
import { mayBeRefused } from '../job/schema-checks.js';
import type { StartedChat } from '../job/started-chat.js';
import type { WebObserver } from '../job/web-source.js';
import { ChatWeb } from '../web/chat-web.js';
import { affinityOf } from './chat.affinity.js';
import { boundChatToTokens } from './chat.demand.js';
import { ChatResolver, type ChatRouteOptions, type ResolvedChat } from './chat.resolver.js';
import { PreparedChat } from './prepared-chat.js';

export interface StartOptions extends ChatRouteOptions {
  /** The id in the response's body. */
  responseId: string;
  /** Called for a request that may look something up in the web, before it does. */
  observeWeb?: (started: { chat: NormalizedChat; modelId: string }) => WebObserver;
}

/** Starts the job of a chat request; every format of text generation leads here. */
@Injectable()
export class ChatStarter {
  constructor(
    private readonly resolver: ChatResolver,
    private readonly documents: ChatSources,
    private readonly inputs: ChatInputs,
    private readonly adapters: InputAdapters,
    private readonly web: ChatWeb,
    private readonly cacheScopes: CacheScopes,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Each stage needs the one before. Whatever fails up to `limit` charges nothing; `findSources` charges the jobs that
   * read parts and questions, and `startJob` reserves the chat.
   */
  async start(http: HttpExchange, request: ChatCompletionRequest, options: StartOptions): Promise<StartedChat> {
    const resolved = await this.resolver.resolve(http, request, options);
    // Everything that costs nothing is checked before a part is read.
    const checked = new CheckedChat(request, resolved.model, options.raw);
    const prepared = await this.bound(resolved, checked);
    const limited = await prepared.limit();
    await prepared.findSources(limited);
    return await this.startJob(resolved, { prepared, limited, request, options });
  }

  /** Reads files and images, and finds out what else adds to the prompt, at its longest. Nothing is charged. */
  private async bound({ opened, character }: ResolvedChat, checked: CheckedChat): Promise<PreparedChat> {
    const { messages } = checked.request;
    const documents = await this.documents.prepare(opened, character?.character, messages);
    const readable = await this.inputs.prepare(messages, opened);
    const adapted = this.adapters.plan(readable, opened);
    const web = this.web.plan(checked.with(documents?.bound(messages) ?? messages), checked, opened);
    const sources = [adapted.isEmpty ? null : adapted, documents, web].filter((source) => source !== null);
    return new PreparedChat(opened, checked, readable, new PromptSources(sources));
  }

  /** Reserves the worst case, lets the web be searched, and hands the job to the queue. */
  private async startJob(
    { opened, model, character, onlyWorkerId }: ResolvedChat,
    {
      prepared,
      limited,
      request,
      options: { responseId, observeWeb },
    }: {
      prepared: PreparedChat;
      limited: LimitedModelRequest;
      request: ChatCompletionRequest;
      options: StartOptions;
    },
  ): Promise<StartedChat> {
    const { longest: chat, looksUp } = prepared;
    const { pricing, modelId } = limited.price;
    const account = callerOf(opened.http.request);
    const cacheScope = this.cacheScopes.labelOf(account);
    const caller = this.cacheScopes.accountLabelOf(account);
    const stream = request.stream === true;
    const awaitsAcceptance = stream && mayBeRefused(chat.payload);
    const payload = {
      ...boundChatToTokens(chat.payload, model, limited.tokens),
      ...(awaitsAcceptance && { reportsAcceptance: true }),
      cacheScope,
      caller,
    };
    const job = await limited.start<ChatJobPayload, ChatEvent>(
      {
        definition: chatJob,
        deadlineMs: this.config.chatDeadlineMs,
        affinity: affinityOf({ ...prepared.payload, cacheScope }),
        onlyWorkerId,
        responseId,
        awaitsAcceptance,
        ...affordableChat(payload, { ...model, pricing }),
        preparation: prepared.preparation(looksUp ? observeWeb?.({ chat, modelId }) : undefined),
      },
      { stream },
    );
    character?.countUse();
    return prepared.present(job);
  }
}
