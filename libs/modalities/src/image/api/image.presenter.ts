import { type ErrorCode, PlatformError } from '#common';
import type { HttpExchange } from '#platform/http';
import type { GenerateImageResponse, ImageTiming, SimpleGenerateImageResponse } from '../contract/image.response.js';
import type { ImageJobPayload } from '../contract/index.js';
import type { FinishedImage, FinishedImages } from './image.service.js';

/** Images and the request that made them. */
export interface MadeImages extends FinishedImages {
  modelId: string;
  payload: ImageJobPayload;
}

/** Returns the bytes of an image and sets their type. Throws `code` if the model returned none. */
export function respondWithImage(
  http: HttpExchange,
  image: FinishedImage | undefined,
  code: ErrorCode,
  message: string,
): Buffer {
  if (image === undefined) throw new PlatformError(code, message);
  http.setHeaders({ 'content-type': image.contentType });
  return image.bytes;
}

/** The JSON of `POST /image/generate`; `totalMs` is the time since the request arrived. */
export function presentImages(id: string, result: MadeImages, totalMs: number): GenerateImageResponse {
  return {
    id,
    images: result.images.map(({ bytes }) => bytes.toString('base64')),
    request: effectiveValues(result),
    timing: timingOf(result, totalMs),
  };
}

/** Returns what is needed to reproduce the images, including the random seed but not the prompts. */
function effectiveValues({ modelId, payload }: MadeImages): object {
  const { width, height, steps, guidance, seeds, format, safeMode, withExif } = payload;
  return {
    model: modelId,
    width,
    height,
    steps,
    cfg_scale: guidance,
    seed: seeds[0],
    variants: seeds.length,
    format,
    safe_mode: safeMode,
    embed_exif_metadata: withExif,
  };
}

/** The JSON of `POST /images/generations`. */
export function presentAsOpenai(
  images: readonly FinishedImage[],
  format: 'b64_json' | 'url',
  createdSeconds: number,
): SimpleGenerateImageResponse {
  const data = images.map(({ bytes, contentType }) => {
    const text = bytes.toString('base64');
    return format === 'url' ? { url: `data:${contentType};base64,${text}` } : { b64_json: text };
  });
  return { created: createdSeconds, data };
}

function timingOf({ executionMs, jobMs }: FinishedImages, totalMs: number): ImageTiming {
  return {
    inferenceDuration: Math.round(executionMs),
    inferencePreprocessingTime: Math.max(0, Math.round(totalMs - jobMs)),
    inferenceQueueTime: Math.max(0, Math.round(jobMs - executionMs)),
    total: Math.round(totalMs),
  };
}
