import { fieldFault, isGiven } from '#platform/http';
import type { Pricing } from '#model-registry/manifest';
import { unitOfMaking, unitOfUpscaling, unitsOfMaking, unitsOfUpscaling, type VideoUnits } from '../contract/index.js';
import type { QuoteVideoRequest } from '../contract/video.request.js';
import type { VideoModel } from './video.model.js';
import { factorOf } from './video.normalizer.js';
import { refuseLongSource, refuseUnpriced } from './video.refusals.js';
import { openSecondsOf, secondsOf } from './video-seconds.js';

export interface QuoteParts {
  model: VideoModel;
  pricing: Pricing | null;
  /** Fetches a video and answers how long it is, in seconds; asked at most once, and only for a request without fault. */
  measure: (url: string) => Promise<number>;
}

/**
 * What a job of these inputs would use. Rejects with what is wrong with them, by its field, as queueing them would, and as
 * `measure` does.
 */
export async function quotedUnits(wire: QuoteVideoRequest, parts: QuoteParts): Promise<VideoUnits> {
  const { model } = parts;
  if (isGiven(wire.video_url) && !model.inputs.has('video_url')) {
    throw fieldFault(`video_url is not taken by the model ${model.id}`, 'video_url', 'custom');
  }
  return await (model.kind === 'upscaler' ? unitsOfUpscaler(wire, parts) : unitsOfMaker(wire, parts));
}

async function unitsOfUpscaler(wire: QuoteVideoRequest, parts: QuoteParts): Promise<VideoUnits> {
  const { model, pricing } = parts;
  const factor = factorOf(wire.upscale_factor, model);
  if (isGiven(wire.resolution)) {
    throw fieldFault(`resolution is not taken by the upscaler ${model.id}`, 'resolution', 'custom');
  }
  refuseUnpriced(model, pricing, { unit: unitOfUpscaling(factor), param: 'upscale_factor' });
  const seconds = (await secondsOfSource(wire, parts)) ?? secondsOf(wire.duration);
  if (seconds !== null) return unitsOfUpscaling({ seconds, factor });
  const message =
    'reference_video_total_duration or video_url is required: the price depends on the length of the source';
  throw fieldFault(message, 'reference_video_total_duration', 'required');
}

async function unitsOfMaker(wire: QuoteVideoRequest, parts: QuoteParts): Promise<VideoUnits> {
  const { model, pricing } = parts;
  if (isGiven(wire.upscale_factor)) throw fieldFault('upscale_factor is for upscalers', 'upscale_factor', 'custom');
  if (!model.durations.includes(wire.duration)) {
    throw fieldFault(`duration must be one of: ${model.durations.join(', ')}`, 'duration', 'invalid_enum_value');
  }
  if (isGiven(wire.resolution) && !model.resolutions.includes(wire.resolution)) {
    throw fieldFault(`resolution must be one of: ${model.resolutions.join(', ')}`, 'resolution', 'invalid_enum_value');
  }
  if (hasSource(wire, model)) {
    if (isGiven(wire.resolution)) {
      throw fieldFault('resolution does not go with a source: the size is that of the source', 'resolution', 'custom');
    }
    refuseUnpriced(model, pricing, { unit: unitOfMaking(pricing, null), param: 'video_url' });
  }
  const sourceSeconds = await secondsOfSource(wire, parts);
  if (sourceSeconds !== null) return unitsOfMaking(pricing, { seconds: sourceSeconds, resolution: null });
  const resolution = wire.resolution ?? model.resolutions[0] ?? null;
  refuseUnpriced(model, pricing, { unit: unitOfMaking(pricing, resolution), param: 'resolution' });
  return unitsOfMaking(pricing, { seconds: secondsOf(wire.duration) ?? openSecondsOf(model), resolution });
}

/** Models that take no video are paid by what they make, whatever a request says of one. */
function hasSource(wire: QuoteVideoRequest, { inputs }: VideoModel): boolean {
  return inputs.has('video_url') && (isGiven(wire.video_url) || isGiven(wire.reference_video_total_duration));
}

/** Null where the request names no source. */
async function secondsOfSource(wire: QuoteVideoRequest, { model, measure }: QuoteParts): Promise<number | null> {
  const { video_url: url, reference_video_total_duration: given } = wire;
  if (!hasSource(wire, model)) return null;
  if (!isGiven(given)) return isGiven(url) ? await measure(url) : null;
  refuseLongSource(model, given);
  return given;
}
