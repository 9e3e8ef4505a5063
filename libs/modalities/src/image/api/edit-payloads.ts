import { randomInt } from 'node:crypto';
import { PlatformError } from '#common';
import type { ImageHeader } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import { mattingFamilies } from '#model-registry/matting';
import { type ImageJobPayload, type ImageFormat, plainImage } from '../contract/index.js';
import { largestSeed } from '../contract/image.request.js';

/** Latents are an eighth of an image, and most networks halve them three times. */
export const latentDivisor = 64;
/** Maximum pixels of an upscaled image. */
const maxUpscaledPixels = 16_777_216;

/** The operations that each image family supports. */
const operationsOf: Readonly<Record<string, readonly ImageJobPayload['operation'][]>> = {
  esrgan: ['upscale'],
  ...Object.fromEntries(mattingFamilies.map((family) => [family, ['remove-background'] as const])),
  migan: ['edit'],
  'stable-diffusion': ['generate', 'edit'],
};

/** Images that a family uses for an edit: one to fill or redraw, and its mask. */
const inputsOf: Readonly<Record<string, number>> = { migan: 2, 'stable-diffusion': 2 };

/** Maximum images of an edit, whatever the manifest says: unused ones must not be charged. */
export function maxInputsOf({ family }: Pick<ModelManifest, 'family'>): number {
  return inputsOf[family] ?? 1;
}

/** Whether edits with a family choose the size; the others keep the size of the image. */
export function isRedrawn({ family }: Pick<ModelManifest, 'family'>): boolean {
  return family === 'stable-diffusion';
}

/** Throws `INVALID_MODEL` if the model's family does not support the operation. */
export function assertOperation(
  { id, family }: Pick<ModelManifest, 'id' | 'family'>,
  operation: ImageJobPayload['operation'] | 'vary',
): void {
  const isKnown = operation === 'vary' ? isRedrawn({ family }) : operationsOf[family]?.includes(operation);
  if (isKnown === true) return;
  const verb = {
    generate: 'make',
    edit: 'edit',
    vary: 'vary',
    upscale: 'upscale',
    'remove-background': 'cut out',
    describe: 'describe',
    classify: 'classify',
  }[operation];
  throw new PlatformError('INVALID_MODEL', `The model ${id} does not ${verb} images.`, 'model');
}

/** Maximum characters of a prompt. */
export function promptLimitOf({ constraints }: ModelManifest): number {
  const limit = (constraints as { promptCharacterLimit?: number } | undefined)?.promptCharacterLimit;
  return limit ?? Infinity;
}

/** A payload with defaults and a random seed. */
export function plainPayload(operation: ImageJobPayload['operation'], inputs: string[]): ImageJobPayload {
  return plainImage(operation, inputs, randomInt(1, largestSeed));
}

/**
 * Returns 2 or 4. A factor of 4 becomes 2 if the result would be too large; throws `IMAGE_TOO_LARGE` if that is still
 * too large.
 */
export function upscaleFactor(wanted: number | undefined, { width, height }: ImageHeader): 2 | 4 {
  const scale = wanted ?? 2;
  if (scale !== 2 && scale !== 4) throw new PlatformError('INVALID_REQUEST', 'scale must be 2 or 4.', 'scale');
  const fits = (factor: number): boolean => width * height * factor ** 2 <= maxUpscaledPixels;
  if (scale === 4 && fits(4)) return 4;
  if (fits(2)) return 2;
  const message = `The result would have more than ${maxUpscaledPixels} pixels.`;
  throw new PlatformError('IMAGE_TOO_LARGE', message, 'image');
}

/** Default format: png at 1K and where transparent pixels are kept, which jpeg has no place for; jpeg above. */
export function editFormat(
  wanted: string | undefined,
  { resolution, keepsAlpha }: { resolution: string; keepsAlpha: boolean },
): ImageFormat {
  if (wanted === 'jpg') return 'jpeg';
  if (wanted !== undefined && wanted !== null) return wanted as ImageFormat;
  return !keepsAlpha && /^[24]k$/i.test(resolution) ? 'jpeg' : 'png';
}
