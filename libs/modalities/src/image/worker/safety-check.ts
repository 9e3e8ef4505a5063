import { PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import type { ClassifyOutput } from '#inference/tasks';
import { blurPixels, type Pixels } from '#media';
import { adultScore, adultThreshold, safetyModelId } from '../contract/image-safety.js';
import { withinPixels } from './image-operations.js';

/** Blur radius over the longer side: enough that nothing is recognizable. */
const blurShare = 0.05;

/** Classifiers see 224 by 224 pixels: the numbers of an image of 33 megapixels would take half a gigabyte in their host. */
const maxClassifiedPixels = 4_194_304;

export interface CheckedImage {
  image: Pixels;
  blurred: boolean;
}

/**
 * Blurs an image with adult content. Rejects with `MODEL_OFFLINE` while the worker has no safety classifier loaded: in
 * safe mode no unchecked image leaves the worker.
 */
export async function checkImage(
  image: Pixels,
  { safetyClassifier, id, signal }: { safetyClassifier: TaskRunner | null; id: string; signal: AbortSignal },
): Promise<CheckedImage> {
  if (safetyClassifier === null) {
    const message = `The model ${safetyModelId}, which checks images before they leave, is not loaded. Try again later, or set safe_mode to false.`;
    throw new PlatformError('MODEL_OFFLINE', message, 'safe_mode');
  }
  const scores = await classifyImage(image, { runner: safetyClassifier, id: `${id}-safety`, signal });
  if (adultScore(scores ?? {}) < adultThreshold) return { image, blurred: false };
  const sigma = Math.max(4, Math.max(image.width, image.height) * blurShare);
  return { image: await blurPixels(image, sigma), blurred: true };
}

/** Returns the probability of each class; null if the job was cancelled. */
export async function classifyImage(
  image: Pixels,
  { runner, id, signal }: { runner: TaskRunner; id: string; signal: AbortSignal },
): Promise<ClassifyOutput['scores'] | null> {
  const small = await withinPixels(image, maxClassifiedPixels);
  const input = { image: { width: small.width, height: small.height, data: withoutAlpha(small) } };
  const { output } = await runner.runTask({ id, task: 'classify', input }, { signal });
  return (output as ClassifyOutput | null)?.scores ?? null;
}

function withoutAlpha({ channels, data }: Pixels): Uint8Array {
  if (channels === 3) return data;
  const step = channels === 1 ? 1 : 4;
  const rgb = new Uint8Array((data.length / step) * 3);
  for (let pixel = 0; pixel < data.length / step; pixel++) {
    for (let channel = 0; channel < 3; channel++) {
      rgb[pixel * 3 + channel] = data[pixel * step + (step === 1 ? 0 : channel)] as number;
    }
  }
  return rgb;
}
