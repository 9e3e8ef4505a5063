import { Injectable } from '@nestjs/common';
import { displayNanos, noTokens } from '#common';
import {
  DownloadUrls,
  MediaArtifacts,
  type ModelRequest,
  RequestPipeline,
  requireRunFits,
  type RunDemand,
} from '#gateway';
import { MediaTools } from '#media';
import { ApiConfig } from '#platform/config';
import { type HttpExchange, isGiven } from '#platform/http';
import { quoteVideo, videoJob } from '../contract/index.js';
import type { QueueVideoRequest, QuoteVideoRequest } from '../contract/video.request.js';
import type { VideoQuoteResponse } from '../contract/video.response.js';
import { quotedUnits } from './video-quote.js';
import { readVideo } from './video.inputs.js';
import { type VideoModel, videoModel } from './video.model.js';
import { normalizeVideo } from './video.normalizer.js';
import { videoPayload } from './video-payload.js';
import { presentNeededConsent, presentQueuedVideo } from './video.presenter.js';

/** How long an input is stored after the deadline of its job, in ms, in case no process deletes it. */
const marginMs = 600_000;

/** Quotes and queues videos. */
@Injectable()
export class VideoService {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly artifacts: MediaArtifacts,
    private readonly tools: MediaTools,
    private readonly urls: DownloadUrls,
    private readonly config: ApiConfig,
  ) {}

  async quote(http: HttpExchange, body: QuoteVideoRequest): Promise<VideoQuoteResponse> {
    const opened = await this.pipeline.open(http, { name: body.model, type: 'video' });
    const model = videoModel(opened.manifest);
    const pricing = (await opened.price()).pricing;
    const units = await quotedUnits(body, { model, pricing, measure: (url) => this.measure(opened, model, url) });
    return { quote: displayNanos(quoteVideo(units, pricing)) };
  }

  async queue(http: HttpExchange, body: QueueVideoRequest): Promise<object> {
    const opened = await this.pipeline.open(http, { name: body.model, type: 'video' });
    const model = videoModel(opened.manifest);
    const plan = normalizeVideo(body, model);
    if (model.consent !== null && !isGiven(body.consents?.[model.consent.flow])) {
      void http.reply.status(409).header('x-should-retry', 'false');
      return presentNeededConsent(body, model.consent);
    }
    opened.requireEnabled();
    // Checked before anything is fetched for a result that could not be written.
    await this.tools.require();
    const limited = await opened.limit({ needsWorker: false });
    const pricing = limited.price.pricing;
    const inputReader = this.readerOf(opened);
    const requireFits = (demand: RunDemand): void => requireRunFits(opened.resolved, demand);
    const payload = await videoPayload(plan, { model, inputReader, pricing, requireFits });
    const resultId = model.privateDelivery ? this.urls.reserveResult(model.id) : null;
    const queueId = await limited.queue(
      {
        definition: videoJob,
        deadlineMs: this.config.mediaDeadlineMs,
        payload: { ...payload, resultId },
        bounds: { ...noTokens, units: payload.units },
        amountNano: quoteVideo(payload.units, pricing),
      },
      { delivery: resultId === null ? 'inline' : 'link', inputArtifacts: [...inputReader.artifactIds] },
    );
    inputReader.handOver();
    const response = presentQueuedVideo({ modelId: model.id, queueId });
    return resultId === null ? response : { ...response, download_url: this.urls.of(resultId, http.request) };
  }

  /**
   * Returns the length of a video in seconds. Fetching it is not charged, so it counts towards the limit like a job,
   * unlike a quote without a source.
   */
  private async measure(opened: ModelRequest, model: VideoModel, url: string): Promise<number> {
    opened.requireEnabled();
    await this.tools.require();
    await opened.limit({ needsWorker: false });
    return (await readVideo(this.readerOf(opened), url, model.maxSourceSeconds)).probe.durationSeconds;
  }

  private readerOf({ http, manifest }: ModelRequest) {
    return this.artifacts.inputsOf(http, manifest.id, this.config.mediaDeadlineMs + marginMs);
  }
}
