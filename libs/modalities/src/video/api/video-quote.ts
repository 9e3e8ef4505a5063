import { unitsOfMaking, unitsOfUpscaling, type VideoPricing, type VideoUnits } from '../contract/index.js';
import type { QuoteVideoRequest } from '../contract/video.request.js';
import type { VideoModel } from './video.model.js';
import { factorOf } from './video.normalizer.js';
import { isGiven, refusal } from './video.refusals.js';
import { openSecondsOf, secondsOf } from './video-seconds.js';

export interface QuoteParts {
  model: VideoModel;
  pricing: VideoPricing | null;
  /** Fetches a video and answers how long it is, in seconds; asked at most once, and only for a request without fault. */
  measure: (url: string) => Promise<number>;
}

/** What a job of these inputs would use. Rejects with what is wrong with them, by its field, and as `measure` does. */
export async function quotedUnits(wire: QuoteVideoRequest, parts: QuoteParts): Promise<VideoUnits> {
  const { model, pricing } = parts;
  if (isGiven(wire.video_url) && !model.inputs.has('video_url')) {
    throw refusal(`video_url is not taken by the model ${model.id}`, 'video_url', 'custom');
  }
  const named = secondsOf(wire.duration);
  if (model.kind === 'upscaler') {
    const factor = factorOf(wire.upscale_factor, model);
    const seconds = (await secondsOfSource(wire, parts)) ?? named;
    if (seconds !== null) return unitsOfUpscaling({ seconds, factor });
    const message =
      'reference_video_total_duration or video_url is required: the price depends on the length of the source';
    throw refusal(message, 'reference_video_total_duration', 'required');
  }
  if (isGiven(wire.upscale_factor)) throw refusal('upscale_factor is for upscalers', 'upscale_factor', 'custom');
  if (!model.durations.includes(wire.duration)) {
    throw refusal(`duration must be one of: ${model.durations.join(', ')}`, 'duration', 'invalid_enum_value');
  }
  const sourceSeconds = await secondsOfSource(wire, parts);
  if (sourceSeconds !== null) return unitsOfMaking(pricing, { seconds: sourceSeconds, resolution: null });
  if (isGiven(wire.resolution) && !model.resolutions.includes(wire.resolution)) {
    throw refusal(`resolution must be one of: ${model.resolutions.join(', ')}`, 'resolution', 'invalid_enum_value');
  }
  const resolution = wire.resolution ?? model.resolutions[0] ?? null;
  return unitsOfMaking(pricing, { seconds: named ?? openSecondsOf(model), resolution });
}

/** Null where the request names no source. */
async function secondsOfSource(
  { video_url: url, reference_video_total_duration: given }: QuoteVideoRequest,
  { measure }: QuoteParts,
): Promise<number | null> {
  if (isGiven(given)) return given;
  return isGiven(url) ? await measure(url) : null;
}
