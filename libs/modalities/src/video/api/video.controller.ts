import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ModelRoute, QueuedMedia, RequestPipeline } from '#gateway';
import { ApiRoute, LargeBody, WireBody } from '#platform/http';
import {
  CompleteVideoRequest,
  QueueVideoRequest,
  QuoteVideoRequest,
  RetrieveVideoRequest,
} from '../contract/video.request.js';
import { videoDocuments as documents } from './video.document.js';
import { presentPolicyFailure, presentQueuedVideo } from './video.presenter.js';
import { VideoService } from './video.service.js';

const types = ['video'] as const;

@Controller('video')
export class VideoController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(VideoService) private readonly videos: VideoService,
    @Inject(QueuedMedia) private readonly media: QueuedMedia,
  ) {}

  @Post('quote')
  @LargeBody()
  @ApiRoute(documents.quote)
  async quote(@WireBody(QuoteVideoRequest) wire: QuoteVideoRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.videos.quote(http, wire));
  }

  @Post('queue')
  @ModelRoute(documents.queue, { responseOfJob: presentQueuedVideo })
  async queue(@WireBody(QueueVideoRequest) wire: QueueVideoRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.videos.queue(http, wire));
  }

  @Post('retrieve')
  @ModelRoute(documents.retrieve, { free: true })
  async retrieve(
    @WireBody(RetrieveVideoRequest) wire: RetrieveVideoRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, (http) =>
      this.media.retrieve(http, wire, types).catch((error: unknown) => presentPolicyFailure(error, reply)),
    );
  }

  @Post('complete')
  @ModelRoute(documents.complete, { free: true })
  async complete(
    @WireBody(CompleteVideoRequest) wire: CompleteVideoRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.media.complete(http, wire, types));
  }
}
