import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { TranscriptionController } from './transcription.controller.js';

/** The routes of transcription. */
@Module({ imports: [GatewayModule], controllers: [TranscriptionController] })
export class TranscriptionModule {}
