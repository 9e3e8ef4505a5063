import { Module } from '@nestjs/common';
import { DocumentsModule } from '#documents/nest';
import { EgressModule } from '#egress/nest';
import { GatewayModule } from '#gateway';
import { ChatController } from './chat.controller.js';
import { ChatStarter } from './chat.starter.js';
import { ChatImages } from './inputs/chat-images.js';
import { ChatInputs, partReaders } from './inputs/chat-inputs.js';
import { FilePartReader } from './inputs/file-reader.js';
import { InputAdapters } from './inputs/input-adapters.js';
import type { PartReader } from './inputs/part-reader.js';
import { ResponsesController } from './responses.controller.js';
import { ResponsesOptions } from './responses/responses.options.js';

/** The routes of chat. The process provides an `InputTranscriber`. */
@Module({
  imports: [GatewayModule, DocumentsModule, EgressModule],
  controllers: [ChatController, ResponsesController],
  providers: [
    ChatImages,
    ChatInputs,
    FilePartReader,
    InputAdapters,
    ChatStarter,
    ResponsesOptions,
    // One reader per content part that is turned into text.
    { provide: partReaders, inject: [FilePartReader], useFactory: (...readers: PartReader[]) => readers },
  ],
})
export class ChatModule {}
