import { PlatformError } from '#common';
import type { MediaInputReader, RunDemand } from '#gateway';
import type { FrameSize, VideoProbe } from '#media';
import type { Pricing } from '#model-registry/manifest';
import {
  unitOfMaking,
  unitOfUpscaling,
  unitsOfMaking,
  unitsOfUpscaling,
  type VideoJobPayload,
} from '../contract/index.js';
import { madeSize, shortSideOf } from './made-size.js';
import { readFrame, readVideo } from './video.inputs.js';
import type { VideoModel } from './video.model.js';
import type { VideoPlan } from './video.normalizer.js';
import { type PricedChoice, refuseUnpriced } from './video.refusals.js';

/** Maximum side of an upscaled video in pixels, which players still support. */
const maxSide = 7_680;
/** Default short side. */
const openShortSide = 720;

export interface VideoPayloadParts {
  model: VideoModel;
  inputReader: MediaInputReader;
  pricing: Pricing | null;
  /** Throws for frames that the workers of the model have no memory for. */
  requireFits: (demand: RunDemand) => void;
}

/**
 * Fetches the inputs of a plan and builds its payload. Rejects as the input reader does, for what has no price, and for
 * videos that would grow too large.
 */
export async function videoPayload(
  plan: VideoPlan,
  { model, inputReader, pricing, requireFits }: VideoPayloadParts,
): Promise<VideoJobPayload> {
  refuseUnpriced(model, pricing, pricedChoiceOf(plan, pricing));
  const open: Omit<VideoJobPayload, 'operation' | 'inputs' | 'units'> = {
    places: [],
    width: 0,
    height: 0,
    fps: 0,
    frames: 0,
    scale: 1,
    audio: plan.audio,
    maxSeconds: model.maxSourceSeconds,
    resultId: null,
  };
  if (plan.operation === 'from-text') {
    const { prompt, negativePrompt, seed, seconds, resolution, ...settings } = plan;
    const frames = { count: settings.frames, param: 'duration' };
    const param = resolution === null ? 'aspect_ratio' : 'resolution';
    requireFits({ width: settings.width, height: settings.height, divisor: model.sizeDivisor, param, frames });
    const units = unitsOfMaking(pricing, { seconds, resolution });
    return { ...open, ...settings, inputs: [], words: { prompt, negativePrompt, seed }, units };
  }
  if (plan.operation === 'between') {
    const { images, seconds, fps, frames, resolution } = plan;
    const taken = [];
    for (const { url, param } of images) taken.push(await readFrame(inputReader, url, param));
    const size = sizeOf(taken[0]?.header ?? { width: openShortSide, height: openShortSide }, resolution);
    requireFits({ ...size, divisor: 2, param: resolution === null ? 'image_url' : 'resolution' });
    const units = unitsOfMaking(pricing, { seconds, resolution });
    const inputs = taken.map(({ artifactId }) => artifactId);
    const places = images.map(({ place }) => place);
    return { ...open, ...size, operation: 'between', inputs, places, fps, frames, units };
  }
  const { artifactId, probe } = await readVideo(inputReader, plan.video, model.maxSourceSeconds);
  const { durationSeconds: seconds, width, height } = probe;
  requireFits({ width, height, param: 'video_url' });
  if (plan.operation === 'double-rate') {
    const units = unitsOfMaking(pricing, { seconds, resolution: null });
    return { ...open, operation: 'double-rate', inputs: [artifactId], units };
  }
  assertFits(probe, plan.factor);
  const units = unitsOfUpscaling({ seconds, factor: plan.factor });
  return { ...open, operation: 'upscale', inputs: [artifactId], scale: plan.factor, units };
}

function pricedChoiceOf(plan: VideoPlan, pricing: Pricing | null): PricedChoice {
  if (plan.operation === 'upscale') return { unit: unitOfUpscaling(plan.factor), param: 'upscale_factor' };
  if (plan.operation === 'double-rate') return { unit: unitOfMaking(pricing, null), param: 'video_url' };
  return { unit: unitOfMaking(pricing, plan.resolution), param: 'resolution' };
}

/** Returns the size of a video with the shape of an image and the short side of a resolution; both sides are even. */
export function sizeOf(image: FrameSize, resolution: string | null): FrameSize {
  const short = shortSideOf(resolution) ?? Math.min(openShortSide, image.width, image.height);
  return madeSize(image, { short, divisor: 2 });
}

function assertFits({ width, height }: VideoProbe, factor: number): void {
  if (Math.max(width, height) * factor <= maxSide) return;
  const message = `The result would have ${width * factor} × ${height * factor} pixels; the maximum is ${maxSide} a side.`;
  throw new PlatformError('INVALID_VIDEO_FORMAT', message, 'video_url');
}
