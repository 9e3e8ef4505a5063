import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { MediaTools } from '../tools/media-tools.js';

/** What reads and writes audio and video. */
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
