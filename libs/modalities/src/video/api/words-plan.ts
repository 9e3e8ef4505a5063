import { randomInt } from 'node:crypto';
import { invalidField } from '#gateway';
import { readRatio } from '#media';
import { isGiven } from '#platform/http';
import { largestSeed, type QueueVideoRequest } from '../contract/video.request.js';
import { madeSize, shortSideOf } from './made-size.js';
import type { VideoModel } from './video.model.js';
import { openSecondsOf, secondsOf } from './video-seconds.js';

/** A video to generate from text. */
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

/** Default shape. */
const openShape = { width: 16, height: 9 };

/** Throws `INVALID_REQUEST` naming the missing field; unsupported ones were rejected before. */
export function planFromText(body: QueueVideoRequest, model: VideoModel, fps: number): WordsPlan {
  const { prompt } = body;
  if (!isGiven(prompt) || prompt === '')
    throw invalidField('prompt is required: it is what is to be seen.', 'prompt', 'required');
  const seconds = secondsOf(body.duration) ?? openSecondsOf(model);
  const resolution = body.resolution ?? model.resolutions[0] ?? null;
  const shapes = [body.aspect_ratio, ...model.aspectRatios].map((ratio) => readRatio(ratio ?? ''));
  return {
    operation: 'from-text',
    prompt,
    negativePrompt: body.negative_prompt ?? '',
    ...madeSize(shapes.find((shape) => shape !== null) ?? openShape, {
      short: shortSideOf(resolution) ?? model.shortSide,
      divisor: model.sizeDivisor,
    }),
    seconds,
    fps,
    frames: Math.max(1, Math.round(seconds * fps)),
    // Chosen here, so that a job that restarts on another worker makes the same video.
    seed: isGiven(body.seed) ? body.seed : randomInt(largestSeed),
    resolution,
  };
}
