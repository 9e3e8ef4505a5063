import type { GenerateImageResponse, ImageTiming, SimpleGenerateImageResponse } from '../contract/image.response.js';
import type { FinishedPicture, FinishedPictures } from './run-image.js';

/** What image routes say of the pictures they send (contract 19). */
export function moderationHeaders(pictures: readonly FinishedPicture[]): Record<string, string> {
  return {
    'x-service-is-blurred': String(pictures.some(({ blurred }) => blurred)),
    // Nothing is refused for what it shows: what is for adults is blurred. No model of ours looks for the other two.
    'x-service-is-content-violation': 'false',
    'x-service-is-adult-model-content-violation': 'false',
    'x-service-contains-minor': 'false',
  };
}

/** The JSON of `POST /image/generate`; `totalMs` is the time since the request came in. */
export function presentPictures(id: string, finished: FinishedPictures, totalMs: number): GenerateImageResponse {
  return {
    id,
    images: finished.pictures.map(({ bytes }) => bytes.toString('base64')),
    timing: timingOf(finished, totalMs),
  };
}

/** The JSON of `POST /images/generations`. */
export function presentAsOpenai(
  pictures: readonly FinishedPicture[],
  format: 'b64_json' | 'url',
  createdSeconds: number,
): SimpleGenerateImageResponse {
  const data = pictures.map(({ bytes, contentType }) => {
    const text = bytes.toString('base64');
    return format === 'url' ? { url: `data:${contentType};base64,${text}` } : { b64_json: text };
  });
  return { created: createdSeconds, data };
}

function timingOf({ executionMs, jobMs }: FinishedPictures, totalMs: number): ImageTiming {
  return {
    inferenceDuration: Math.round(executionMs),
    inferencePreprocessingTime: Math.max(0, Math.round(totalMs - jobMs)),
    inferenceQueueTime: Math.max(0, Math.round(jobMs - executionMs)),
    total: Math.round(totalMs),
  };
}
