import { Controller, Post, type StreamableFile } from '@nestjs/common';
import { type MediaTiming, ModelRoute, QueuedMedia } from '#gateway';
import { ApiRoute, Exchange, type HttpExchange, LargeBody, RequestBody } from '#platform/http';
import {
  CompleteVideoRequest,
  QueueVideoRequest,
  QuoteVideoRequest,
  RetrieveVideoRequest,
} from '../contract/video.request.js';
import type { PolicyFailureResponse, VideoQuoteResponse } from '../contract/video.response.js';
import { videoDocuments as documents } from './video.document.js';
import { presentPolicyFailure, presentQueuedVideo } from './video.presenter.js';
import { VideoService } from './video.service.js';

const types = ['video'] as const;

@Controller('video')
export class VideoController {
  constructor(
    private readonly videos: VideoService,
    private readonly media: QueuedMedia,
  ) {}

  @Post('quote')
  @LargeBody()
  @ApiRoute(documents.quote)
  async quote(
    @RequestBody(QuoteVideoRequest) body: QuoteVideoRequest,
    @Exchange() http: HttpExchange,
  ): Promise<VideoQuoteResponse> {
    return await this.videos.quote(http, body);
  }

  @Post('queue')
  @ModelRoute(documents.queue, { responseOfJob: presentQueuedVideo })
  async queue(
    @RequestBody(QueueVideoRequest) body: QueueVideoRequest,
    @Exchange() http: HttpExchange,
  ): Promise<object> {
    return await this.videos.queue(http, body);
  }

  @Post('retrieve')
  @ModelRoute(documents.retrieve, { free: true })
  async retrieve(
    @RequestBody(RetrieveVideoRequest) body: RetrieveVideoRequest,
    @Exchange() http: HttpExchange,
  ): Promise<MediaTiming | StreamableFile | PolicyFailureResponse> {
    return await this.media
      .retrieve(http, body, types)
      .catch((error: unknown) => presentPolicyFailure(error, http.reply));
  }

  @Post('complete')
  @ModelRoute(documents.complete, { free: true })
  async complete(
    @RequestBody(CompleteVideoRequest) body: CompleteVideoRequest,
    @Exchange() http: HttpExchange,
  ): Promise<{ success: boolean }> {
    return await this.media.complete(http, body, types);
  }
}
