import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { VideoController } from './video.controller.js';
import { VideoService } from './video.service.js';

/** The routes of async video jobs. */
@Module({ imports: [GatewayModule], controllers: [VideoController], providers: [VideoService] })
export class VideoModule {}
