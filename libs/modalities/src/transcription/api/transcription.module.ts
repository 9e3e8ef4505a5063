import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { RecordingTranscriber } from './recording-transcriber.js';
import { TranscriptionController } from './transcription.controller.js';

/** The routes of transcription, and the transcription of recordings in other requests. */
@Module({
  imports: [GatewayModule],
  controllers: [TranscriptionController],
  providers: [RecordingTranscriber],
  exports: [RecordingTranscriber],
})
export class TranscriptionModule {}
