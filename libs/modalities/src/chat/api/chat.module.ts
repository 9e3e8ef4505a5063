import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { ChatController } from './chat.controller.js';
import { ChatImages } from './inputs/chat-images.js';
import { ChatInputs, partReaders } from './inputs/chat-inputs.js';
import type { PartReader } from './inputs/part-reader.js';

/** The routes of chat. */
@Module({
  imports: [GatewayModule],
  controllers: [ChatController],
  providers: [
    ChatImages,
    ChatInputs,
    // One reader per content part that is turned into text.
    { provide: partReaders, inject: [], useFactory: (...readers: PartReader[]) => readers },
  ],
})
export class ChatModule {}
