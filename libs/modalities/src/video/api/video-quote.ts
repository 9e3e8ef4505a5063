import { invalidField, refuseFields } from '#gateway';
import { isGiven } from '#platform/http';
import type { Pricing } from '#model-registry/manifest';
import { unitOfMaking, unitOfUpscaling, unitsOfMaking, unitsOfUpscaling, type VideoUnits } from '../contract/index.js';
import type { QuoteVideoRequest } from '../contract/video.request.js';
import type { VideoModel } from './video.model.js';
import { factorOf } from './video.normalizer.js';
import { refuseLongSource, refuseOfKind, refuseUnpriced } from './video.refusals.js';
import { openSecondsOf, secondsOf } from './video-seconds.js';

export interface QuoteDependencies {
  model: VideoModel;
  pricing: Pricing | null;
  /** Fetches a video and returns its length in seconds. Called at most once, and only for a valid request. */
  measure: (url: string) => Promise<number>;
}

/**
 * Returns what a job of these inputs would use. Rejects with the same field errors as queueing it, and as `measure`
 * does.
 */
export async function quotedUnits(body: QuoteVideoRequest, dependencies: QuoteDependencies): Promise<VideoUnits> {
  const { model } = dependencies;
  if (!model.inputs.has('video_url')) refuseFields(body, ['video_url'], model);
  refuseOfKind(body, model);
  return await (model.kind === 'upscaler' ? unitsOfUpscaler(body, dependencies) : unitsOfMaker(body, dependencies));
}

async function unitsOfUpscaler(body: QuoteVideoRequest, dependencies: QuoteDependencies): Promise<VideoUnits> {
  const { model, pricing } = dependencies;
  const factor = factorOf(body.upscale_factor, model);
  refuseUnpriced(model, pricing, { unit: unitOfUpscaling(factor), param: 'upscale_factor' });
  const seconds = (await secondsOfSource(body, dependencies)) ?? secondsOf(body.duration);
  if (seconds !== null) return unitsOfUpscaling({ seconds, factor });
  const message =
    'reference_video_total_duration or video_url is required: the price depends on the length of the source.';
  throw invalidField(message, 'reference_video_total_duration', 'required');
}

async function unitsOfMaker(body: QuoteVideoRequest, dependencies: QuoteDependencies): Promise<VideoUnits> {
  const { model, pricing } = dependencies;
  if (hasSource(body, model)) {
    if (isGiven(body.resolution)) {
      throw invalidField('resolution does not go with a source: the size is that of the source.', 'resolution');
    }
    refuseUnpriced(model, pricing, { unit: unitOfMaking(pricing, null), param: 'video_url' });
  }
  const sourceSeconds = await secondsOfSource(body, dependencies);
  if (sourceSeconds !== null) return unitsOfMaking(pricing, { seconds: sourceSeconds, resolution: null });
  const resolution = body.resolution ?? model.resolutions[0] ?? null;
  refuseUnpriced(model, pricing, { unit: unitOfMaking(pricing, resolution), param: 'resolution' });
  return unitsOfMaking(pricing, { seconds: secondsOf(body.duration) ?? openSecondsOf(model), resolution });
}

/** Models that take no video are charged by what they make, even if a request names one. */
function hasSource(body: QuoteVideoRequest, { inputs }: VideoModel): boolean {
  return inputs.has('video_url') && (isGiven(body.video_url) || isGiven(body.reference_video_total_duration));
}

/** Returns null if the request names no source. */
async function secondsOfSource(body: QuoteVideoRequest, { model, measure }: QuoteDependencies): Promise<number | null> {
  const { video_url: url, reference_video_total_duration: seconds } = body;
  if (!hasSource(body, model)) return null;
  if (!isGiven(seconds)) return isGiven(url) ? await measure(url) : null;
  refuseLongSource(model, seconds);
  return seconds;
}
