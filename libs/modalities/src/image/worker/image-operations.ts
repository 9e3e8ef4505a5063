import { PlatformError } from '#common';
import type { TaskOptions, TaskRunner } from '#inference/host';
import type { GenerateInput, InpaintInput, MatteOutput, ImageOutput, RgbPixels, UpscaleInput } from '#inference/tasks';
import { type Pixels, resizePixels } from '#media';
import type { ImageJobPayload } from '../contract/index.js';

/** The decoded input images of a job: color and alpha. */
export interface ImageJob {
  payload: ImageJobPayload;
  inputs: readonly Pixels[];
  seed: number;
  /** `inpaint`, or the edit operation of the model's family. */
  family: string;
}

export interface ImageRun {
  runner: TaskRunner;
  id: string;
  options: TaskOptions;
}

/** Alpha below this counts as masked. */
const gapBelow = 128;

/** Generates one image; null when the job was cancelled meanwhile. */
export async function makeImage(job: ImageJob, run: ImageRun): Promise<Pixels | null> {
  switch (job.payload.operation) {
    case 'upscale':
      return await asPixels(run, 'upscale', {
        image: opaque(base(job)),
        scale: job.payload.scale,
      } satisfies UpscaleInput);
    case 'remove-background':
      return await cutOut(base(job), run);
    case 'generate':
      return await asPixels(run, 'generate', generateInput(job, null));
    case 'edit':
      return job.family === 'stable-diffusion' ? await redraw(job, run) : await inpaint(job, run);
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

async function cutOut(image: Pixels, run: ImageRun): Promise<Pixels | null> {
  const matte = (await ask(run, 'matte', { image: opaque(await lookable(image)) })) as MatteOutput | null;
  if (matte === null) return null;
  const alphas = await stretched(matte, image);
  const data = new Uint8Array(image.data);
  // Transparent pixels stay transparent.
  alphas.forEach((alpha, pixel) => (data[pixel * 4 + 3] = Math.min(alpha, data[pixel * 4 + 3] ?? 0)));
  return { ...image, channels: 4, data };
}

/**
 * Matting networks work on at most 2,048 by 512 pixels: a larger image is never held in memory at full size for them.
 */
const maxMattePixels = 16_777_216;

async function lookable(image: Pixels): Promise<Pixels> {
  const { width, height } = image;
  const scale = Math.sqrt(maxMattePixels / (width * height));
  if (scale >= 1) return image;
  const fit = (side: number): number => Math.max(1, Math.floor(side * scale));
  return await resizePixels(image, { width: fit(width), height: fit(height) });
}

async function stretched({ width, height, alpha }: MatteOutput, image: Pixels): Promise<Uint8Array> {
  if (width === image.width && height === image.height) return alpha;
  const matte: Pixels = { width, height, channels: 1, data: alpha };
  return (await resizePixels(matte, { width: image.width, height: image.height, kernel: 'linear' })).data;
}

/** Fills the masked area: the transparent part of the image, or what a second image shows in white. */
async function inpaint(job: ImageJob, run: ImageRun): Promise<Pixels | null> {
  const image = base(job);
  const [, maskImage] = job.inputs;
  const mask = maskImage === undefined ? gapsOf(image) : await whiteOf(maskImage, image);
  if (mask.every((value) => value === 0)) {
    const message =
      'Nothing is to be filled: make a part of the image transparent, or send a mask, white where it shall be filled, as the second image of a multi-edit.';
    throw new PlatformError('INVALID_REQUEST', message, 'image');
  }
  return await asPixels(run, 'inpaint', { image: opaque(image), mask } satisfies InpaintInput);
}

async function redraw(job: ImageJob, run: ImageRun): Promise<Pixels | null> {
  const { width, height } = job.payload;
  const fitted = await resizePixels(base(job), { width, height, fit: 'cover' });
  return await asPixels(run, 'generate', generateInput(job, opaque(fitted)));
}

function generateInput({ payload, seed }: ImageJob, image: RgbPixels | null): GenerateInput {
  const { prompt, negativePrompt, width, height, steps, guidance, strength } = payload;
  return { prompt, negativePrompt, width, height, steps, guidance, seed, image, strength };
}

function base({ inputs }: ImageJob): Pixels {
  const [first] = inputs;
  if (first === undefined) throw new PlatformError('INVALID_REQUEST', 'The job has no input image.', 'image');
  return first;
}

/** Composited over white, as a viewer shows it. */
function opaque({ width, height, data }: Pixels): RgbPixels {
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const alpha = data[pixel * 4 + 3] as number;
    for (let channel = 0; channel < 3; channel++) {
      const sample = data[pixel * 4 + channel] as number;
      rgb[pixel * 3 + channel] = alpha === 255 ? sample : Math.round((sample * alpha) / 255 + 255 - alpha);
    }
  }
  return { width, height, data: rgb };
}

function gapsOf({ width, height, data }: Pixels): Uint8Array {
  const mask = new Uint8Array(width * height);
  for (let pixel = 0; pixel < mask.length; pixel++) {
    if ((data[pixel * 4 + 3] as number) < gapBelow) mask[pixel] = 1;
  }
  return mask;
}

async function whiteOf(image: Pixels, { width, height }: Pixels): Promise<Uint8Array> {
  const { data } = await resizePixels(image, { width, height, kernel: 'nearest' });
  const mask = new Uint8Array(width * height);
  for (let at = 0; at < data.length; at += 4) {
    const light = (data[at] as number) + (data[at + 1] as number) + (data[at + 2] as number);
    if ((data[at + 3] as number) >= gapBelow && light >= 3 * 128) mask[at / 4] = 1;
  }
  return mask;
}
