import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { StorageModule } from '#storage/nest';
import { SpeechController } from './speech.controller.js';
import { VoicesController } from './voices.controller.js';
import { VoicesRepository } from './voices.repository.js';
import { VoicesService } from './voices.service.js';

/** The routes of speech and cloned voices. */
@Module({
  imports: [GatewayModule, StorageModule],
  controllers: [SpeechController, VoicesController],
  providers: [VoicesRepository, VoicesService],
})
export class SpeechModule {}
