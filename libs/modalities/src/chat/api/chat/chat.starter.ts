import { Inject, Injectable } from '@nestjs/common';
import { type HttpExchange, RequestPipeline } from '#gateway';
import { TeeHosts } from '#gateway/tee';
import { ApiConfig } from '#platform/config';
import { callerOf } from '#platform/http';
import type { ChatEvent } from '../../contract/chat.events.js';
import { type ChatJobPayload, chatJob } from '../../contract/chat.job.js';
import type { ChatMessage } from '../../contract/chat.message.js';
import { affordableChat, minChatNano } from '../../contract/chat.meter.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import { CacheScopes } from '../job/cache-scopes.js';
import { affinityOf } from './chat.affinity.js';
import { ChatCharacters } from '../characters/chat-characters.js';
import { ChatSources, type FoundSources } from '../characters/chat-sources.js';
import { boundChatToTokens, chatDemand } from './chat.demand.js';
import { type BarePrompts, chatModel, normalizeChat, type NormalizedChat } from '../job/chat.normalizer.js';
import { SystemPrompts } from './chat.system-prompt.js';
import { refuseSealed, sealingOf } from './chat.sealing.js';
import { ChatInputs } from '../inputs/chat-inputs.js';
import { InputAdapters } from '../inputs/input-adapters.js';
import { ChatWeb } from '../web/chat-web.js';
import type { StartedChat } from '../job/started-chat.js';
import { unusableServerTools, type UnusableTool } from '../job/server-tools.js';
import type { WebObserver } from '../web/web-source.js';

interface StartOptions {
  /** The id in the response's body. */
  responseId: string;
  /** Texts to continue instead of the messages of the request, which are then none. */
  bare?: BarePrompts;
  /** Skips tools of this service that the model cannot use, where the request has others. Default: false. */
  serverToolsAreOptional?: boolean;
  /** A conversation that does not fit loses its oldest messages. Default: false. */
  truncates?: boolean;
  /** Takes end-to-end encrypted requests; other routes refuse them. Default: false. */
  mayBeSealed?: boolean;
  /** Called for a request that may look something up in the web, before it does. */
  observeWeb?: (started: { chat: NormalizedChat; modelId: string }) => WebObserver;
}

/** Starts the job of a chat request; every wire format of text generation leads here. */
@Injectable()
export class ChatStarter {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: Pick<RequestPipeline, 'open'>,
    @Inject(ChatInputs) private readonly inputs: ChatInputs,
    @Inject(InputAdapters) private readonly adapters: InputAdapters,
    @Inject(ChatWeb) private readonly web: ChatWeb,
    @Inject(SystemPrompts) private readonly systemPrompts: Pick<SystemPrompts, 'of'>,
    @Inject(ChatCharacters) private readonly characters: ChatCharacters,
    @Inject(ChatSources) private readonly sources: ChatSources,
    @Inject(CacheScopes) private readonly cacheScopes: CacheScopes,
    @Inject(TeeHosts) private readonly hosts: Pick<TeeHosts, 'of'>,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'chatDeadlineMs'>,
  ) {}

  /**
   * Rejects as `ChatCharacters.of`, the stages of the pipeline and `normalizeChat` do; nothing is charged then.
   */
  async start(
    http: HttpExchange,
    wire: ChatCompletionRequest,
    { responseId, bare = {}, serverToolsAreOptional, truncates, mayBeSealed = false, observeWeb }: StartOptions,
  ): Promise<StartedChat & { unusableTools: UnusableTool[] }> {
    const character = await this.characters.of(wire, bare);
    const opened = await this.pipeline.open(http, { name: character?.modelName ?? wire.model, type: 'text' });
    if (!mayBeSealed) refuseSealed(http.request);
    const sealing = mayBeSealed ? sealingOf(http.request, wire, { opened, hosts: this.hosts }) : null;
    const systemPrompt = await this.systemPrompts.of(opened.manifest);
    const prompts = { systemPrompt, ...character?.prompts };
    const access = this.web.accessOf(opened.manifest, bare);
    const model = {
      ...chatModel(opened.resolved, prompts),
      ...{ web: access, serverToolsAreOptional, truncates, sealing: sealing?.keys },
    };
    // Everything that costs nothing is checked before a part is read.
    const checked = normalizeChat(wire, model, bare);
    const sources = await this.sources.prepare(opened, character?.character, wire.messages);
    const adapted = this.adapters.plan(await this.inputs.prepare(wire.messages, opened), opened);
    const normalize = (messages: ChatMessage[]) =>
      messages === wire.messages ? checked : normalizeChat({ ...wire, messages }, model, bare, checked);
    const withSources = (messages: ChatMessage[]) => sources?.bound(messages) ?? messages;
    const web = this.web.plan(normalize(withSources(wire.messages)), wire, { ...model, opened });
    /** With the longest texts that may come from the web. */
    const worst = (messages: ChatMessage[]) => web?.worst(messages, normalize) ?? normalize(messages);
    const bounded = worst(withSources(adapted.bounded));
    // Before another model reads the other parts, which would be charged.
    const hasInputs = !adapted.isEmpty || sources !== null;
    if (hasInputs) await opened.screen({ modality: chatJob.modality, payload: checked.payload });
    const limited = await opened.limit({ tokens: chatDemand(bounded, model) });
    const pricing = limited.price.pricing;
    const minNano = (messages: ChatMessage[]) =>
      (sources?.amountNano ?? 0n) + minChatNano(worst(withSources(messages)).payload, { ...model, pricing });
    let found: FoundSources = { messages: adapted.bounded, citations: [] };
    if (hasInputs) {
      await sources?.limit();
      const messages = adapted.isEmpty ? adapted.bounded : await adapted.run({ minNano });
      found = (await sources?.find(messages, minNano(messages))) ?? { messages, citations: [] };
    }
    const chat = hasInputs ? withCitations(worst(found.messages), found) : bounded;
    const account = callerOf(http.request);
    const cacheScope = this.cacheScopes.labelOf(account);
    const caller = this.cacheScopes.accountLabelOf(account);
    const payload = { ...boundChatToTokens(chat.payload, model, limited.tokens), cacheScope, caller };
    const observer = web === null ? undefined : observeWeb?.({ chat, modelId: limited.price.modelId });
    const job = await limited.start<ChatJobPayload, ChatEvent>(
      {
        definition: chatJob,
        deadlineMs: this.config.chatDeadlineMs,
        affinity: affinityOf({ ...normalize(found.messages).payload, cacheScope }),
        onlyWorkerId: sealing?.processId,
        responseId,
        ...affordableChat(payload, { ...model, pricing }),
        preparation: web?.preparationOf(found.messages, normalize, observer),
      },
      { stream: wire.stream === true },
    );
    character?.countUse();
    const started: StartedChat = web?.presented(chat, job) ?? { chat, job };
    return { ...started, unusableTools: unusableServerTools(wire, access) };
  }
}

/** The response names the passages that the prompt holds. */
function withCitations(chat: NormalizedChat, { citations }: FoundSources): NormalizedChat {
  if (citations.length === 0) return chat;
  return { ...chat, parameters: { ...chat.parameters, web_search_citations: citations } };
}
