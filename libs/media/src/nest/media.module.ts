import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { MediaTools } from '../tools/media-tools.js';

/** ffmpeg and ffprobe, looked up once at the start. */
@Module({
  providers: [
    {
      provide: MediaTools,
      inject: [ApiConfig, Logger],
      useFactory: ({ ffmpeg }: ApiConfig, logger: Logger) =>
        MediaTools.find({ ffmpeg, warn: (message) => logger.warn(message) }),
    },
  ],
  exports: [MediaTools],
})
export class MediaModule {}
