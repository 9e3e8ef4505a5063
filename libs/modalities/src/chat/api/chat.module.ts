import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { ChatController } from './chat.controller.js';

/** The routes of chat. */
@Module({ imports: [GatewayModule], controllers: [ChatController] })
export class ChatModule {}
