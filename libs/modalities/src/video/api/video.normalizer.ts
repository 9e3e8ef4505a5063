import { checkOneOf, invalidField } from '#gateway';
import { isGiven } from '#platform/http';
import { keyframeRate, type QueueVideoRequest, type VideoKeyframe } from '../contract/video.request.js';
import type { VideoModel } from './video.model.js';
import { refuseForeignFields } from './video.refusals.js';
import { openSecondsOf, secondsOf } from './video-seconds.js';
import { planFromText, type WordsPlan } from './words-plan.js';

/** An image for one frame. */
export interface PlacedImage {
  url: string;
  /** Field to name in errors. */
  param: string;
  /** Index of the frame. */
  place: number;
}

/** What a request asks of its model; nothing was fetched yet. */
export type VideoPlan = { audio: boolean } & (
  | WordsPlan
  | {
      operation: 'between';
      images: PlacedImage[];
      seconds: number;
      fps: number;
      frames: number;
      resolution: string | null;
    }
  | { operation: 'double-rate'; video: string }
  | { operation: 'upscale'; video: string; factor: 1 | 2 | 4 }
);

/** Throws `INVALID_REQUEST` naming the field that the model does not take, or whose value is invalid. */
export function normalizeVideo(body: QueueVideoRequest, model: VideoModel): VideoPlan {
  refuseForeignFields(body, model);
  const audio = body.audio ?? true;
  if (model.kind === 'upscaler') {
    const { video_url: video } = body;
    if (!isGiven(video)) throw invalidField('video_url is required: it is what is upscaled.', 'video_url', 'required');
    return { operation: 'upscale', audio, video, factor: factorOf(body.upscale_factor, model) };
  }
  const fps = body.fps ?? model.frameRates[0] ?? keyframeRate;
  checkOneOf('fps', fps, model.frameRates);
  if (model.kind === 'generator') return { audio, ...planFromText(body, model, fps) };
  const { video_url: video } = body;
  if (isGiven(video)) return doubling(body, video, audio);
  const seconds = secondsOf(body.duration) ?? openSecondsOf(model);
  const frames = Math.max(2, Math.round(seconds * fps));
  const resolution = body.resolution ?? model.resolutions[0] ?? null;
  const images = placed(body, { seconds, fps, frames });
  return { operation: 'between', audio, images, seconds, fps, frames, resolution };
}

/** Returns the requested factor or the model's default. Throws `INVALID_REQUEST`. */
export function factorOf(wanted: number | null | undefined, { factors }: VideoModel): 1 | 2 | 4 {
  const factor = wanted ?? factors[0] ?? 2;
  checkOneOf('upscale_factor', factor, factors);
  return factor as 1 | 2 | 4;
}

function doubling(body: QueueVideoRequest, video: string, audio: boolean): VideoPlan {
  const fields = ['image_url', 'end_image_url', 'keyframes', 'fps', 'resolution'] as const;
  const beside = fields.find((field) => isGiven(body[field]));
  if (beside === undefined) return { operation: 'double-rate', audio, video };
  const message = `${beside} does not go with video_url: its frames and their size are those of the video, twice as many.`;
  throw invalidField(message, beside);
}

function placed(body: QueueVideoRequest, video: { seconds: number; fps: number; frames: number }): PlacedImage[] {
  const { image_url: first, end_image_url: last } = body;
  const images = (body.keyframes ?? []).map((keyframe, index) => keyImage(keyframe, index, video));
  if (isGiven(first)) images.push({ url: first, param: 'image_url', place: 0 });
  if (isGiven(last)) images.push({ url: last, param: 'end_image_url', place: video.frames - 1 });
  if (images.length < 2) {
    const missing = !isGiven(first) ? 'image_url' : 'end_image_url';
    const message = 'at least two images are needed: image_url and end_image_url, or keyframes.';
    throw invalidField(message, missing, 'required');
  }
  const sorted = images.toSorted((left, right) => left.place - right.place);
  const twice = sorted.find(({ place }, index) => sorted[index - 1]?.place === place);
  if (twice === undefined) return sorted;
  throw invalidField(`${twice.param} and another image are the same frame of the video.`, twice.param);
}

function keyImage(
  { image_url: url, frame_index: frame }: VideoKeyframe,
  index: number,
  { seconds, fps, frames }: { seconds: number; fps: number; frames: number },
): PlacedImage {
  const param = `keyframes[${index}]`;
  const max = seconds * keyframeRate;
  if (frame > max)
    throw invalidField(`${param}.frame_index must not be greater than ${max}.`, `${param}.frame_index`, 'too_big');
  return { url, param: `${param}.image_url`, place: Math.min(frames - 1, Math.round((frame * fps) / keyframeRate)) };
}
