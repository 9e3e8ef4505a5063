import { randomInt } from 'node:crypto';
import { fieldFault, isGiven } from '#platform/http';
import { largestSeed, type QueueVideoRequest } from '../contract/video.request.js';
import { madeSize, shapeOf, shortSideOf } from './made-size.js';
import type { VideoModel } from './video.model.js';
import { openSecondsOf, secondsOf } from './video-seconds.js';

/** A video to be made from words. */
export interface WordsPlan {
  operation: 'from-text';
  prompt: string;
  negativePrompt: string;
  width: number;
  height: number;
  seconds: number;
  fps: number;
  frames: number;
  seed: number;
  resolution: string | null;
}

/** Where neither caller nor model names a shape. */
const openShape = 16 / 9;

/** Throws `INVALID_REQUEST` naming the field that is missing; foreign ones were refused before. */
export function planFromText(wire: QueueVideoRequest, model: VideoModel, fps: number): WordsPlan {
  const { prompt } = wire;
  if (!isGiven(prompt) || prompt === '')
    throw fieldFault('prompt is required: it is what is to be seen', 'prompt', 'required');
  const seconds = secondsOf(wire.duration) ?? openSecondsOf(model);
  const resolution = wire.resolution ?? model.resolutions[0] ?? null;
  const shapes = [wire.aspect_ratio, ...model.aspectRatios].map((ratio) => (isGiven(ratio) ? shapeOf(ratio) : null));
  return {
    operation: 'from-text',
    prompt,
    negativePrompt: wire.negative_prompt ?? '',
    ...madeSize({
      shape: shapes.find((shape) => shape !== null) ?? openShape,
      short: (resolution === null ? null : shortSideOf(resolution)) ?? model.shortSide,
      divisor: model.sizeDivisor,
    }),
    seconds,
    fps,
    frames: Math.max(1, Math.round(seconds * fps)),
    // Chosen here, so that a job that another worker begins anew brings the same video.
    seed: isGiven(wire.seed) ? wire.seed : randomInt(largestSeed),
    resolution,
  };
}
