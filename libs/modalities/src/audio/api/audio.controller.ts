import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { displayNanos, noTokens } from '#common';
import { ModelRoute, QueuedMedia, RequestPipeline } from '#gateway';
import { MediaTools, needsFfmpeg } from '#media';
import { ApiConfig } from '#platform/config';
import { Access, ApiRoute, WireBody } from '#platform/http';
import { audioJob, quoteAudio } from '../contract/index.js';
import {
  CompleteAudioRequest,
  QueueAudioRequest,
  QuoteAudioRequest,
  RetrieveAudioRequest,
} from '../contract/audio.request.js';
import { audioDocuments as documents } from './audio.document.js';
import { audioTypes } from './audio.model.js';
import { normalizeAudio, quotedUnits, sizeOfAudio, sizeOfQuote } from './audio.normalizer.js';
import { presentQueued } from './audio.presenter.js';

@Controller('audio')
export class AudioController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(QueuedMedia) private readonly media: QueuedMedia,
    @Inject(MediaTools) private readonly tools: MediaTools,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'mediaDeadlineMs'>,
  ) {}

  @Post('quote')
  @Access('public')
  @ApiRoute(documents.quote)
  async quote(@WireBody(QuoteAudioRequest) wire: QuoteAudioRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const opened = await this.pipeline.open(http, { name: wire.model, type: audioTypes });
      const size = sizeOfQuote(wire, opened.manifest);
      const pricing = (await opened.price()).pricing;
      return { quote: displayNanos(quoteAudio(quotedUnits(pricing, size), pricing)) };
    });
  }

  @Post('queue')
  @ModelRoute(documents.queue, { responseOfJob: presentQueued })
  async queue(@WireBody(QueueAudioRequest) wire: QueueAudioRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const opened = await this.pipeline.open(http, { name: wire.model, type: audioTypes });
      const options = normalizeAudio(wire, opened.manifest);
      opened.requireEnabled();
      if (needsFfmpeg(options.format)) await this.tools.require();
      const limited = await opened.limit({ needsWorker: false });
      const pricing = limited.price.pricing;
      const units = quotedUnits(pricing, sizeOfAudio(options));
      const payload = { ...options, units };
      const { mediaDeadlineMs: deadlineMs } = this.config;
      const quoted = { bounds: { ...noTokens, units }, amountNano: quoteAudio(units, pricing) };
      const order = { definition: audioJob, deadlineMs, payload, ...quoted };
      const queueId = await limited.queue(order, { delivery: 'inline', inputArtifacts: [] });
      return presentQueued({ modelId: opened.manifest.id, queueId });
    });
  }

  @Post('retrieve')
  @ModelRoute(documents.retrieve, { free: true })
  async retrieve(
    @WireBody(RetrieveAudioRequest) wire: RetrieveAudioRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.media.retrieve(http, wire, audioTypes));
  }

  @Post('complete')
  @ModelRoute(documents.complete, { free: true })
  async complete(
    @WireBody(CompleteAudioRequest) wire: CompleteAudioRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.media.complete(http, wire, audioTypes));
  }
}
