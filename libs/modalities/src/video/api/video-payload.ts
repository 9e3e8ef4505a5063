import { PlatformError } from '#common';
import type { MediaInputReader } from '#gateway';
import type { VideoProbe } from '#media';
import type { Pricing } from '#model-registry/manifest';
import {
  unitOfMaking,
  unitOfUpscaling,
  unitsOfMaking,
  unitsOfUpscaling,
  type VideoJobPayload,
} from '../contract/index.js';
import { shortSideOf } from './made-size.js';
import { readFrame, readVideo } from './video.inputs.js';
import type { VideoModel } from './video.model.js';
import type { VideoPlan } from './video.normalizer.js';
import { type PricedChoice, refuseUnpriced } from './video.refusals.js';

/** Longest side of what is made, in pixels: what players still play. */
const maxSide = 7_680;
const maxMadeSide = 4_096;
/** Short side where neither caller nor model names one. */
const openShortSide = 720;

/**
 * Fetches what a plan needs and makes the job of it. Rejects as the intake does, for what has no price, and for videos that
 * would grow too large.
 */
export async function videoPayload(
  plan: VideoPlan,
  {
    model,
    inputReader,
    pricing,
  }: {
    model: VideoModel;
    inputReader: MediaInputReader;
    pricing: Pricing | null;
  },
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
    const { prompt, negativePrompt, seed, width, height, seconds, fps, frames, resolution } = plan;
    const units = unitsOfMaking(pricing, { seconds, resolution });
    const words = { prompt, negativePrompt, seed };
    return { ...open, operation: 'from-text', inputs: [], words, width, height, fps, frames, units };
  }
  if (plan.operation === 'between') {
    const { images, seconds, fps, frames, resolution } = plan;
    const taken = [];
    for (const { url, param } of images) taken.push(await readFrame(inputReader, url, param));
    const size = sizeOf(taken[0]?.header ?? { width: openShortSide, height: openShortSide }, resolution);
    const units = unitsOfMaking(pricing, { seconds, resolution });
    const inputs = taken.map(({ artifactId }) => artifactId);
    return {
      ...open,
      ...size,
      operation: 'between',
      inputs,
      places: images.map(({ place }) => place),
      fps,
      frames,
      units,
    };
  }
  const { artifactId, probe } = await readVideo(inputReader, plan.video, model.maxSourceSeconds);
  const { durationSeconds: seconds } = probe;
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

/** The size of a video with the shape of a picture and the short side of a resolution; both sides even. */
export function sizeOf(
  { width, height }: { width: number; height: number },
  resolution: string | null,
): { width: number; height: number } {
  const named = resolution === null ? null : shortSideOf(resolution);
  const short = named ?? Math.min(openShortSide, width, height);
  const scale = Math.min(short / Math.min(width, height), maxMadeSide / Math.max(width, height));
  const even = (side: number): number => Math.max(2, Math.round((side * scale) / 2) * 2);
  return { width: even(width), height: even(height) };
}

function assertFits({ width, height }: VideoProbe, factor: number): void {
  if (Math.max(width, height) * factor <= maxSide) return;
  const message = `The result would have ${width * factor} × ${height * factor} pixels; ${maxSide} a side are the most.`;
  throw new PlatformError('INVALID_VIDEO_FORMAT', message, 'video_url');
}
