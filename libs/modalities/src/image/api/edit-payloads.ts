import { randomInt } from 'node:crypto';
import { PlatformError } from '#common';
import type { ImageHeader } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import { type ImageJobPayload, type ImageFormat, plainImage } from '../contract/index.js';
import { largestSeed } from '../contract/image.request.js';

/** Most pixels of an upscaled picture (contract 5.4). */
const maxUpscaledPixels = 16_777_216;

/** What the families of pictures can do. */
const operationsOf: Readonly<Record<string, readonly ImageJobPayload['operation'][]>> = {
  esrgan: ['upscale'],
  modnet: ['remove-background'],
  u2net: ['remove-background'],
  migan: ['edit'],
  'stable-diffusion': ['generate', 'edit'],
};

/** Pictures that a family looks at when it edits: one to draw anew, or one to fill and its mask. */
const inputsOf: Readonly<Record<string, number>> = { migan: 2, 'stable-diffusion': 1 };

/** Most pictures of an edit, whatever the manifest says: nobody pays for one that is not looked at. */
export function maxInputsOf({ family }: Pick<ModelManifest, 'family'>): number {
  return inputsOf[family] ?? 1;
}

/** Whether edits of a family choose size and shape; the others leave the picture as large as it is. */
export function isRedrawn({ family }: Pick<ModelManifest, 'family'>): boolean {
  return family === 'stable-diffusion';
}

/** Refuses a model whose family does something else with pictures. */
export function assertOperation({ id, family }: ModelManifest, operation: ImageJobPayload['operation']): void {
  if (operationsOf[family]?.includes(operation)) return;
  const verb = { generate: 'make', edit: 'edit', upscale: 'upscale', 'remove-background': 'cut out' }[operation];
  throw new PlatformError('INVALID_MODEL', `The model ${id} does not ${verb} pictures.`, 'model');
}

/** Most characters of a prompt. */
export function promptLimitOf({ constraints }: ModelManifest): number {
  const limit = (constraints as { promptCharacterLimit?: number } | undefined)?.promptCharacterLimit;
  return limit ?? Infinity;
}

/** A payload in which nothing is wished for yet, with a seed of its own. */
export function plainPayload(operation: ImageJobPayload['operation'], inputs: string[]): ImageJobPayload {
  return plainImage(operation, inputs, randomInt(1, largestSeed));
}

/** 2 or 4; a fourfold result that would be too large becomes a double one, and one that still would be is refused. */
export function upscaleFactor(wanted: number | undefined, { width, height }: ImageHeader): 2 | 4 {
  const scale = wanted ?? 2;
  if (scale !== 2 && scale !== 4) throw new PlatformError('INVALID_REQUEST', 'scale must be 2 or 4.', 'scale');
  const fits = (factor: number): boolean => width * height * factor ** 2 <= maxUpscaledPixels;
  if (scale === 4 && fits(4)) return 4;
  if (fits(2)) return 2;
  const message = `The result would have more than ${maxUpscaledPixels} pixels.`;
  throw new PlatformError('IMAGE_TOO_LARGE', message, 'image');
}

/** png at 1K, jpeg above, unless the caller says otherwise (contract 5.5). */
export function editFormat(wanted: string | undefined, resolution: string): ImageFormat {
  if (wanted === 'jpg') return 'jpeg';
  if (wanted !== undefined && wanted !== null) return wanted as ImageFormat;
  return /^[24]k$/i.test(resolution) ? 'jpeg' : 'png';
}
