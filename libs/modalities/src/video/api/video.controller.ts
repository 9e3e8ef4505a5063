import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JobQuote } from '#billing';
import { displayNanos, PlatformError } from '#common';
import type { MediaJobKey } from '#jobs';
import {
  balanceHeaders,
  completeMedia,
  findMedia,
  type InferenceServices,
  inferenceServices,
  keyOfMedia,
  type LimitedRequest,
  modelHeaders,
  queueMedia,
  sendMedia,
} from '#gateway';
import type { ResolvedModel } from '#model-registry';
import { Billed, callerOf, disconnectSignal, LargeBody, LimitedByModel, validateWire } from '#platform/http';
import { quoteVideo, videoJob, type VideoPricing } from '../contract/index.js';
import {
  CompleteVideoRequest,
  QueueVideoRequest,
  QuoteVideoRequest,
  RetrieveVideoRequest,
} from '../contract/video.request.js';
import type { VideoCompleteResponse, VideoQueueResponse, VideoQuoteResponse } from '../contract/video.response.js';
import { VideoInputReader } from './video-input-reader.js';
import { videoPayload } from './video-payload.js';
import {
  CompleteVideoApiDocument,
  QueueVideoApiDocument,
  QuoteVideoApiDocument,
  RetrieveVideoApiDocument,
} from './video.document.js';
import { type VideoModel, videoModel } from './video.model.js';
import { assertOnline, normalizeVideo, type VideoPlan } from './video.normalizer.js';
import { presentNeededConsent, presentPolicyFailure } from './video.presenter.js';
import { isGiven } from './video.refusals.js';
import { quotedUnits } from './video-quote.js';

@Controller('video')
export class VideoController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('quote')
  @HttpCode(200)
  @LargeBody()
  @QuoteVideoApiDocument()
  async quote(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VideoQuoteResponse> {
    const wire = validateWire(QuoteVideoRequest, request.body);
    const resolved = await this.services.resolve(wire.model, 'video', request);
    void reply.headers(modelHeaders(resolved));
    const model = videoModel(resolved.manifest);
    const pricing = (await this.services.price(model.id, request.id)).pricing as VideoPricing | null;
    const measure = (url: string): Promise<number> => this.measure({ request, reply }, { url, model, resolved });
    const units = await quotedUnits(wire, { model, pricing, measure });
    return { quote: displayNanos(quoteVideo(units, pricing)) };
  }

  @Post('queue')
  @HttpCode(200)
  @Billed({ responseOfJob: ({ modelId, queueId }) => ({ model: modelId, queue_id: queueId }) })
  @LimitedByModel()
  @QueueVideoApiDocument()
  async queue(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VideoQueueResponse | object> {
    const wire = validateWire(QueueVideoRequest, request.body);
    const resolved = await this.services.resolve(wire.model, 'video', request);
    void reply.headers(modelHeaders(resolved));
    const { manifest, offline } = resolved;
    const model = videoModel(manifest);
    const plan = normalizeVideo(wire, model);
    if (model.consent !== null && !isGiven(wire.consents?.[model.consent.flow])) {
      void reply.status(409).header('x-should-retry', 'false');
      return presentNeededConsent(wire, model.consent);
    }
    assertOnline(offline, manifest.id);
    // Before anything is fetched for a result that nobody could write.
    this.services.media.require();
    const { tokenReservation } = await this.services.limit({ request, reply }, { model: manifest });
    const inputReader = this.inputReader(reply);
    try {
      return await this.admit(request, reply, { plan, inputReader, model, tokenReservation });
    } finally {
      await inputReader.release();
    }
  }

  @Post('retrieve')
  @HttpCode(200)
  @LimitedByModel()
  @RetrieveVideoApiDocument()
  async retrieve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const wire = validateWire(RetrieveVideoRequest, request.body);
    const key = await this.keyOf({ request, reply }, wire);
    try {
      const { job, timing } = await findMedia(this.services, key);
      void reply.header('x-service-progress-percent', job.progressPercent);
      if (timing.status === 'PROCESSING' || job.delivery === 'link') {
        await reply.status(200).send(timing);
        return;
      }
      const deleteAfter = wire.delete_media_on_completion ?? false;
      await sendMedia(this.services, reply, { job, deleteAfter });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'CONTENT_POLICY_VIOLATION') throw error;
      await reply.status(422).header('x-should-retry', 'false').send(presentPolicyFailure(error));
    }
  }

  @Post('complete')
  @HttpCode(200)
  @LimitedByModel()
  @CompleteVideoApiDocument()
  async complete(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VideoCompleteResponse> {
    const key = await this.keyOf({ request, reply }, validateWire(CompleteVideoRequest, request.body));
    return { success: await completeMedia(this.services, key) };
  }

  private keyOf(exchange: LimitedRequest, { model, queue_id: queueId }: CompleteVideoRequest): Promise<MediaJobKey> {
    return keyOfMedia(this.services, exchange, { model, queueId, types: ['video'] });
  }

  /**
   * How long a video is, in seconds. To fetch one is work that nobody pays for: it counts like a job of the model, which
   * a quote without one does not.
   */
  private async measure(
    exchange: LimitedRequest,
    { url, model, resolved }: { url: string; model: VideoModel; resolved: ResolvedModel },
  ): Promise<number> {
    assertOnline(resolved.offline, model.id);
    this.services.media.require();
    await this.services.limit(exchange, { model: resolved.manifest });
    const inputReader = this.inputReader(exchange.reply);
    try {
      return (await inputReader.takeVideo(url, 'video_url', model.maxSourceSeconds)).probe.durationSeconds;
    } finally {
      await inputReader.release();
    }
  }

  private inputReader(reply: FastifyReply): VideoInputReader {
    const { mediaDeadlineMs: deadlineMs } = this.services.settings;
    return new VideoInputReader(this.services, { disconnected: disconnectSignal(reply), deadlineMs });
  }

  /** An id whose life outlasts the job, and then has all of what results get: nobody knows yet when it will be done. */
  private reserveResult(): string {
    const { mediaDeadlineMs, storageLifetimeMs } = this.services.settings;
    return this.services.artifacts.reserve('result', mediaDeadlineMs + storageLifetimeMs);
  }

  private async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    { plan, inputReader, model, tokenReservation }: AdmissibleVideo,
  ): Promise<VideoQueueResponse> {
    const { services } = this;
    const price = await services.price(model.id, request.id);
    const pricing = price.pricing as VideoPricing | null;
    const made = await videoPayload(plan, { model, inputReader, pricing });
    const resultId = model.privateDelivery ? this.reserveResult() : null;
    const payload = { ...made, resultId };
    const quote = new JobQuote(quoteVideo(payload.units, pricing), price);
    try {
      const queueId = await queueMedia(services, {
        requestId: request.id,
        caller: callerOf(request),
        definition: videoJob,
        deadlineMs: services.settings.mediaDeadlineMs,
        modelId: model.id,
        payload,
        quote,
        tokenReservation,
        delivery: resultId === null ? 'inline' : 'link',
        inputArtifacts: [...inputReader.artifactIds],
      });
      inputReader.handOver();
      const answer = { model: model.id, queue_id: queueId };
      return resultId === null ? answer : { ...answer, download_url: services.downloadUrl(resultId, request) };
    } finally {
      void reply.headers(balanceHeaders(quote));
    }
  }
}

/** A request that may run, if it can be paid. */
interface AdmissibleVideo {
  plan: VideoPlan;
  inputReader: VideoInputReader;
  model: VideoModel;
  tokenReservation: Awaited<ReturnType<InferenceServices['limit']>>['tokenReservation'];
}
