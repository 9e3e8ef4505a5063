import { Module } from '@nestjs/common';
import { CharactersModule } from '#characters/nest';
import { DocumentsModule } from '#documents/nest';
import { EgressModule } from '#egress/nest';
import { GatewayModule } from '#gateway';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { WebModule } from '#web/nest';
import { CacheScopes } from './job/cache-scopes.js';
import { ChatCharacters } from './characters/chat-characters.js';
import { ChatSources } from './characters/chat-sources.js';
import { ChatController } from './chat/chat.controller.js';
import { ChatResolver } from './chat/chat.resolver.js';
import { ChatStarter } from './chat/chat.starter.js';
import { CompletionsController } from './completions/completions.controller.js';
import { SystemPrompts } from './chat/chat.system-prompt.js';
import { PromptCounter } from './chat/prompt-counter.js';
import { AdaptedParts } from './inputs/adapted-parts.js';
import { ChatImages } from './inputs/chat-images.js';
import { ChatInputs, partReaders } from './inputs/chat-inputs.js';
import { ChatVideos } from './inputs/chat-videos.js';
import { FilePartReader } from './inputs/file-reader.js';
import { InputAdapters } from './inputs/input-adapters.js';
import type { PartReader } from './inputs/part-reader.js';
import { ChatWeb } from './web/chat-web.js';
import { MessagesController } from './messages/messages.controller.js';
import { MessagesService } from './messages/messages.service.js';
import { PassageScores } from './web/passage-scores.js';
import { WebDecision } from './web/web-decision.js';
import { WebLookup } from './web/web-lookup.js';
import { ResponsesController } from './responses/responses.controller.js';
import { ResponseHistory } from './responses/response-history.js';
import { ResponsesService } from './responses/responses.service.js';
import { ResponsesOptions } from './responses/responses.options.js';
import { StoredResponsesController } from './responses/stored-responses.controller.js';

/** The routes of chat. The process provides an `InputTranscriber`, an `ImageDescriber` and a `TextEmbedder`. */
@Module({
  imports: [GatewayModule, CharactersModule, DocumentsModule, EgressModule, WebModule],
  controllers: [
    ChatController,
    CompletionsController,
    ResponsesController,
    StoredResponsesController,
    MessagesController,
  ],
  providers: [
    AdaptedParts,
    ChatImages,
    ChatInputs,
    ChatVideos,
    FilePartReader,
    InputAdapters,
    ChatWeb,
    WebDecision,
    PassageScores,
    WebLookup,
    ChatCharacters,
    ChatSources,
    ChatResolver,
    ChatStarter,
    PromptCounter,
    CacheScopes,
    ResponsesOptions,
    ResponsesService,
    ResponseHistory,
    MessagesService,
    {
      provide: SystemPrompts,
      inject: [ApiConfig, Logger],
      useFactory: (config: ApiConfig, logger: Logger) => SystemPrompts.open(config, logger),
    },
    // One reader per content part that is turned into text.
    { provide: partReaders, inject: [FilePartReader], useFactory: (...readers: PartReader[]) => readers },
  ],
})
export class ChatModule {}
