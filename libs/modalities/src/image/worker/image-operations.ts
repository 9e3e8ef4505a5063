import { PlatformError } from '#common';
import type { TaskOptions, TaskRunner } from '#inference/host';
import type {
  GenerateInput,
  GenerateOutput,
  ImageOutput,
  InpaintInput,
  MatteOutput,
  RgbPixels,
  UpscaleInput,
} from '#inference/tasks';
import { type FrameSize, type Pixels, resizePixels } from '#media';
import { type ImageJobPayload, type MaskKind, upscaleFactors } from '../contract/index.js';
import { hasTransparency, visibleColors, withAlphaOf } from './alpha-plane.js';
import { fitted, fittedMask, keepUnmasked, maskedPixels, opaque, unfitted } from './redraw.js';

/** The decoded input images of a job: color and alpha. */
export interface ImageJob {
  payload: ImageJobPayload;
  inputs: readonly Pixels[];
  /** One image per seed; several only for a family that generates. */
  seeds: readonly number[];
  /** `inpaint`, or the edit operation of the model's family. */
  family: string;
}

export interface ImageRun {
  runner: TaskRunner;
  /** Upscales the images of a model of one size; null for models of any size. */
  upscaler: TaskRunner | null;
  id: string;
  options: TaskOptions;
}

/** Generates one image per seed; null when the job was cancelled meanwhile. */
export async function makeImages(job: ImageJob, run: ImageRun): Promise<Pixels[] | null> {
  if (job.payload.operation === 'generate') return await generated(run, job, { image: null, mask: null });
  if (job.payload.operation === 'edit' && isGenerator(job)) return await redraw(job, run);
  const image = await makeOne(job, run);
  return image === null ? null : [image];
}

/** Whether the family makes several images in one run. */
export function isGenerator({ family }: Pick<ImageJob, 'family'>): boolean {
  return family === 'stable-diffusion';
}

async function makeOne(job: ImageJob, run: ImageRun): Promise<Pixels | null> {
  switch (job.payload.operation) {
    case 'upscale':
      return await enlarge(base(job), job.payload.scale, run);
    case 'remove-background':
      return await cutOut(base(job), run);
    case 'describe':
    case 'classify':
      throw new PlatformError('INVALID_REQUEST', 'What is said about an image is no image.', 'operation');
    default:
      return await inpaint(job, run);
  }
}

async function ask(run: ImageRun, task: string, input: object): Promise<object | null> {
  const { cancelled, output } = await run.runner.runTask({ id: run.id, task, input }, run.options);
  return cancelled ? null : output;
}

async function asPixels(run: ImageRun, task: string, input: object): Promise<Pixels | null> {
  const output = (await ask(run, task, input)) as ImageOutput | null;
  return output === null ? null : { ...output.image, channels: 3 };
}

/** Networks enlarge colors; the alpha of an image with transparent pixels is enlarged beside them. */
async function enlarge(image: Pixels, scale: 2 | 4, run: ImageRun): Promise<Pixels | null> {
  const isTransparent = hasTransparency(image);
  const input = { image: isTransparent ? visibleColors(image) : opaque(image), scale } satisfies UpscaleInput;
  const colors = await asPixels(run, 'upscale', input);
  return colors === null || !isTransparent ? colors : await withAlphaOf(image, colors);
}

async function cutOut(image: Pixels, run: ImageRun): Promise<Pixels | null> {
  const matte = (await ask(run, 'matte', {
    image: opaque(await withinPixels(image, maxMattePixels)),
  })) as MatteOutput | null;
  if (matte === null) return null;
  const alphas = await stretched(matte, image);
  const data = new Uint8Array(image.data);
  // Transparent pixels stay transparent.
  alphas.forEach((alpha, pixel) => (data[pixel * 4 + 3] = Math.min(alpha, data[pixel * 4 + 3] ?? 0)));
  return { ...image, channels: 4, data };
}

/**
 * Matting networks work on at most 2,048 by 512 pixels: a larger image is never held in memory at full size for them, and
 * their memory does not grow with it.
 */
const maxMattePixels = 4_194_304;

/** Scales an image down to a number of pixels, if it has more. */
export async function withinPixels(image: Pixels, maxPixels: number): Promise<Pixels> {
  const { width, height } = image;
  const scale = Math.sqrt(maxPixels / (width * height));
  if (scale >= 1) return image;
  const fit = (side: number): number => Math.max(1, Math.floor(side * scale));
  return await resizePixels(image, { width: fit(width), height: fit(height) });
}

async function stretched({ width, height, alpha }: MatteOutput, image: Pixels): Promise<Uint8Array> {
  if (width === image.width && height === image.height) return alpha;
  const matte: Pixels = { width, height, channels: 1, data: alpha };
  return (await resizePixels(matte, { width: image.width, height: image.height, kernel: 'linear' })).data;
}

/**
 * Fills the masked area: the transparent part of the image, or what a second image shows. All other pixels stay
 * identical, the alpha of half transparent ones included.
 */
async function inpaint(job: ImageJob, run: ImageRun): Promise<Pixels | null> {
  const image = base(job);
  const [, maskImage] = job.inputs;
  const mask =
    maskImage === undefined
      ? await maskedPixels(image, 'transparent', image)
      : await maskedPixels(maskImage, job.payload.mask ?? 'white', image);
  requireMasked(mask);
  const filled = await asPixels(run, 'inpaint', { image: opaque(image), mask } satisfies InpaintInput);
  return filled === null ? null : keepUnmasked(filled, image, mask);
}

function requireMasked(mask: Uint8Array): void {
  if (mask.some((value) => value !== 0)) return;
  const message =
    'Nothing is to be filled: make a part of the image transparent, or send a mask: to a multi-edit as the second image, white where it shall be filled; to /images/edits as mask, transparent there.';
  throw new PlatformError('INVALID_REQUEST', message, 'image');
}

/** Regenerates an image, or the masked part of it; all other pixels stay identical. */
async function redraw(job: ImageJob, run: ImageRun): Promise<Pixels[] | null> {
  const { width, height, mask: kind = 'white', drawn = { width, height } } = job.payload;
  const size = { width, height };
  const [, maskImage] = job.inputs;
  const image = await resizePixels(base(job), { ...size, fit: 'cover' });
  const mask = maskImage === undefined ? null : await maskOf(maskImage, kind, size);
  if (mask !== null) requireMasked(mask);
  const images = await generated(run, job, {
    image: await fitted(image, drawn),
    mask: mask === null ? null : await fittedMask(mask, size, drawn),
  });
  if (images === null || mask === null) return images;
  return images.map((redrawn) => keepUnmasked(redrawn, image, mask));
}

/** A mask has the shape of the image that it belongs to, and is cropped like it. */
async function maskOf(mask: Pixels, kind: MaskKind, size: FrameSize): Promise<Uint8Array> {
  return await maskedPixels(await resizePixels(mask, { ...size, fit: 'cover', kernel: 'nearest' }), kind, size);
}

async function generated(
  run: ImageRun,
  { payload, seeds }: ImageJob,
  { image, mask }: Pick<GenerateInput, 'image' | 'mask'>,
): Promise<Pixels[] | null> {
  const { prompt, negativePrompt, width, height, steps, guidance, strength, drawn = { width, height } } = payload;
  const size = { width: drawn.width, height: drawn.height };
  const input = { prompt, negativePrompt, ...size, steps, guidance, seeds, image, strength, mask };
  const output = (await ask(run, 'generate', input satisfies GenerateInput)) as GenerateOutput | null;
  const images: Pixels[] = [];
  for (const image of output?.images ?? []) {
    const upscaled = await upscale(run, image, { width, height });
    if (upscaled === null) return null;
    images.push(upscaled);
  }
  return output === null ? null : images;
}

/** Brings an image to its size; null when the job was cancelled meanwhile. */
async function upscale({ upscaler, id, options }: ImageRun, image: RgbPixels, size: FrameSize): Promise<Pixels | null> {
  // A model without an upscaler has drawn the size itself.
  if (upscaler === null) return { ...image, channels: 3 };
  let large = image;
  for (const scale of upscaleFactors(image, size)) {
    const input = { image: large, scale } satisfies UpscaleInput;
    const request = { id: `${id}-upscale`, task: 'upscale', input };
    const { cancelled, output } = await upscaler.runTask(request, { signal: options.signal });
    if (cancelled || output === null) return null;
    large = (output as ImageOutput).image;
  }
  return await unfitted({ ...large, channels: 3 }, size);
}

function base({ inputs }: ImageJob): Pixels {
  const [first] = inputs;
  if (first === undefined) throw new PlatformError('INVALID_REQUEST', 'The job has no input image.', 'image');
  return first;
}
