import { Injectable } from '@nestjs/common';
import { type ModelRequest, RequestPipeline } from '#gateway';
import type { HttpExchange } from '#platform/http';
import { TeeHosts } from '#gateway/tee';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import { type ChatCharacter, ChatCharacters } from '../characters/chat-characters.js';
import { type ChatModel, chatModel } from '../job/chat.model.js';
import type { RawPrompts } from '../job/chat.normalizer.js';
import { effectiveParameters } from '../job/chat.parameters.js';
import { ChatWeb } from '../web/chat-web.js';
import { refuseSealed, sealingOf } from './chat.sealing.js';
import { SystemPrompts } from './chat.system-prompt.js';

/** What a route allows in a chat request. */
export interface ChatRouteOptions {
  /** Texts to continue instead of the messages of the request, which are then none. */
  raw?: RawPrompts;
  /** Skips tools of this service that the model cannot use, where the request has others. Default: false. */
  serverToolsAreOptional?: boolean;
  /** A conversation that does not fit loses its oldest messages. Default: false. */
  truncates?: boolean;
  /** See `ChatModelLimits.reducesToModel`. */
  reducesToModel?: boolean;
  /** Tokens of reasoning that the client grants, where it enables reasoning. Absent: as its effort says. */
  thinkingBudget?: number;
  /** Accepts end-to-end encrypted requests; other routes refuse them. Default: false. */
  mayBeSealed?: boolean;
}

/** Who answers a request, and with which prompts of the platform. */
export interface ResolvedChat {
  opened: ModelRequest;
  model: ChatModel;
  /** Null: the request names none, or one that does not exist, which the check refuses. */
  character: ChatCharacter | null;
  /** The only worker that can read an encrypted request; absent: any. */
  onlyWorkerId?: string;
}

/** Finds the model of a chat request, with its character and its keys. */
@Injectable()
export class ChatResolver {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly characters: ChatCharacters,
    private readonly systemPrompts: SystemPrompts,
    private readonly web: ChatWeb,
    private readonly hosts: TeeHosts,
  ) {}

  /** Rejects as `ChatCharacters.of`, `RequestPipeline.open`, `effectiveParameters` and `sealingOf` do. */
  async resolve(
    http: HttpExchange,
    request: ChatCompletionRequest,
    { raw = {}, mayBeSealed = false, ...options }: ChatRouteOptions,
  ): Promise<ResolvedChat> {
    const character = await this.characters.of(request, raw);
    const opened = await this.pipeline.open(http, { name: character?.modelName ?? request.model, type: 'text' });
    if (!mayBeSealed) refuseSealed(http.request);
    const parameters = effectiveParameters(opened.resolved.suffix, request.service_parameters);
    const sealing = mayBeSealed ? sealingOf(http.request, request, { parameters, opened, hosts: this.hosts }) : null;
    const prompts = { systemPrompt: await this.systemPrompts.of(opened.manifest), ...character?.prompts };
    const web = this.web.accessOf(opened.manifest, raw);
    const { serverToolsAreOptional, truncates, reducesToModel, thinkingBudget } = options;
    const model = {
      ...chatModel(opened.resolved, prompts),
      ...{ web, serverToolsAreOptional, truncates, reducesToModel, thinkingBudget, sealing: sealing?.keys },
    };
    return { opened, model, character, onlyWorkerId: sealing?.processId };
  }
}
