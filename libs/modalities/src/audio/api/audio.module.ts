import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { AudioController } from './audio.controller.js';

/** The routes of async audio jobs. */
@Module({ imports: [GatewayModule], controllers: [AudioController] })
export class AudioModule {}
