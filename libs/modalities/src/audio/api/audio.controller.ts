import { Controller, Post, type StreamableFile } from '@nestjs/common';
import { displayNanos, noTokens } from '#common';
import { type MediaTiming, ModelRoute, QueuedMedia, RequestPipeline } from '#gateway';
import { MediaTools, needsFfmpeg } from '#media';
import { ApiConfig } from '#platform/config';
import { Access, ApiRoute, Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { audioJob, quoteAudio } from '../contract/index.js';
import {
  CompleteAudioRequest,
  QueueAudioRequest,
  QuoteAudioRequest,
  RetrieveAudioRequest,
} from '../contract/audio.request.js';
import type { AudioQueueResponse, AudioQuoteResponse } from '../contract/audio.response.js';
import { audioDocuments as documents } from './audio.document.js';
import { audioTypes } from './audio.model.js';
import { normalizeAudio, quotedUnits, sizeOfAudio, sizeOfQuote } from './audio.normalizer.js';
import { presentQueued } from './audio.presenter.js';

@Controller('audio')
export class AudioController {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly media: QueuedMedia,
    private readonly tools: MediaTools,
    private readonly config: ApiConfig,
  ) {}

  @Post('quote')
  @Access('public')
  @ApiRoute(documents.quote)
  async quote(
    @RequestBody(QuoteAudioRequest) body: QuoteAudioRequest,
    @Exchange() http: HttpExchange,
  ): Promise<AudioQuoteResponse> {
    const opened = await this.pipeline.open(http, { name: body.model, type: audioTypes });
    const size = sizeOfQuote(body, opened.manifest);
    const pricing = (await opened.price()).pricing;
    return { quote: displayNanos(quoteAudio(quotedUnits(pricing, size), pricing)) };
  }

  @Post('queue')
  @ModelRoute(documents.queue, { responseOfJob: presentQueued })
  async queue(
    @RequestBody(QueueAudioRequest) body: QueueAudioRequest,
    @Exchange() http: HttpExchange,
  ): Promise<AudioQueueResponse> {
    const opened = await this.pipeline.open(http, { name: body.model, type: audioTypes });
    const options = normalizeAudio(body, opened.manifest);
    opened.requireEnabled();
    if (needsFfmpeg(options.format)) await this.tools.require();
    const limited = await opened.limit({ needsWorker: false });
    const pricing = limited.price.pricing;
    const units = quotedUnits(pricing, sizeOfAudio(options));
    const payload = { ...options, units };
    const { mediaDeadlineMs: deadlineMs } = this.config;
    const quoted = { bounds: { ...noTokens, units }, amountNano: quoteAudio(units, pricing) };
    const jobSpec = { definition: audioJob, deadlineMs, payload, ...quoted };
    const queueId = await limited.queue(jobSpec, { delivery: 'inline', inputArtifacts: [] });
    return presentQueued({ modelId: opened.manifest.id, queueId });
  }

  @Post('retrieve')
  @ModelRoute(documents.retrieve, { free: true })
  async retrieve(
    @RequestBody(RetrieveAudioRequest) body: RetrieveAudioRequest,
    @Exchange() http: HttpExchange,
  ): Promise<MediaTiming | StreamableFile> {
    return await this.media.retrieve(http, body, audioTypes);
  }

  @Post('complete')
  @ModelRoute(documents.complete, { free: true })
  async complete(
    @RequestBody(CompleteAudioRequest) body: CompleteAudioRequest,
    @Exchange() http: HttpExchange,
  ): Promise<{ success: boolean }> {
    return await this.media.complete(http, body, audioTypes);
  }
}
