import { PlatformError } from '#common';
import type {
  GenerateInput,
  InpaintInput,
  MatteOutput,
  PictureOutput,
  RgbPixels,
  TaskOptions,
  TaskRunner,
  UpscaleInput,
} from '#inference/host';
import { type Pixels, resizePixels } from '#media';
import type { ImageJobPayload } from '../contract/index.js';

/** Pictures of a job as they were decoded: colour and alpha. */
export interface PictureJob {
  payload: ImageJobPayload;
  inputs: readonly Pixels[];
  seed: number;
  /** `inpaint` or what else the model's family does with a picture that is to be edited. */
  family: string;
}

export interface PictureRun {
  runner: TaskRunner;
  id: string;
  options: TaskOptions;
}

/** Alpha below this is a hole. */
const holeBelow = 128;

/** Makes one picture; null when the job was cancelled meanwhile. */
export async function makePicture(job: PictureJob, run: PictureRun): Promise<Pixels | null> {
  switch (job.payload.operation) {
    case 'upscale':
      return await asPixels(run, 'upscale', {
        picture: opaque(base(job)),
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

async function ask(run: PictureRun, task: string, input: object): Promise<object | null> {
  const { cancelled, output } = await run.runner.runTask({ id: run.id, task, input }, run.options);
  return cancelled ? null : output;
}

async function asPixels(run: PictureRun, task: string, input: object): Promise<Pixels | null> {
  const output = (await ask(run, task, input)) as PictureOutput | null;
  return output === null ? null : { ...output.picture, channels: 3 };
}

async function cutOut(picture: Pixels, run: PictureRun): Promise<Pixels | null> {
  const matte = (await ask(run, 'matte', { picture: opaque(await lookable(picture)) })) as MatteOutput | null;
  if (matte === null) return null;
  const alphas = await stretched(matte, picture);
  const data = new Uint8Array(picture.data);
  // What was transparent before stays so.
  alphas.forEach((alpha, pixel) => (data[pixel * 4 + 3] = Math.min(alpha, data[pixel * 4 + 3] ?? 0)));
  return { ...picture, channels: 4, data };
}

/** Networks of mattes look at 2,048 by 512 pixels at most: for a larger picture than this they need not hold it whole. */
const mostMattePixels = 16_777_216;

async function lookable(picture: Pixels): Promise<Pixels> {
  const { width, height } = picture;
  const scale = Math.sqrt(mostMattePixels / (width * height));
  if (scale >= 1) return picture;
  const fit = (side: number): number => Math.max(1, Math.floor(side * scale));
  return await resizePixels(picture, { width: fit(width), height: fit(height) });
}

async function stretched({ width, height, alpha }: MatteOutput, picture: Pixels): Promise<Uint8Array> {
  if (width === picture.width && height === picture.height) return alpha;
  const matte: Pixels = { width, height, channels: 1, data: alpha };
  return (await resizePixels(matte, { width: picture.width, height: picture.height, kernel: 'linear' })).data;
}

/** Fills holes: the transparent part of the picture, or what a second picture shows in white. */
async function inpaint(job: PictureJob, run: PictureRun): Promise<Pixels | null> {
  const picture = base(job);
  const [, maskPicture] = job.inputs;
  const mask = maskPicture === undefined ? holesOf(picture) : await whiteOf(maskPicture, picture);
  if (mask.every((value) => value === 0)) {
    const message =
      'Nothing is to be filled: make a part of the picture transparent, or send a mask, white where it shall be filled, as the second picture of a multi-edit.';
    throw new PlatformError('INVALID_REQUEST', message, 'image');
  }
  return await asPixels(run, 'inpaint', { picture: opaque(picture), mask } satisfies InpaintInput);
}

async function redraw(job: PictureJob, run: PictureRun): Promise<Pixels | null> {
  const { width, height } = job.payload;
  const fitted = await resizePixels(base(job), { width, height, fit: 'cover' });
  return await asPixels(run, 'generate', generateInput(job, opaque(fitted)));
}

function generateInput({ payload, seed }: PictureJob, picture: RgbPixels | null): GenerateInput {
  const { prompt, negativePrompt, width, height, steps, guidance, strength } = payload;
  return { prompt, negativePrompt, width, height, steps, guidance, seed, picture, strength };
}

function base({ inputs }: PictureJob): Pixels {
  const [first] = inputs;
  if (first === undefined) throw new PlatformError('INVALID_REQUEST', 'The job came without a picture.', 'image');
  return first;
}

/** Over white, as the picture would be shown. */
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

function holesOf({ width, height, data }: Pixels): Uint8Array {
  const mask = new Uint8Array(width * height);
  for (let pixel = 0; pixel < mask.length; pixel++) {
    if ((data[pixel * 4 + 3] as number) < holeBelow) mask[pixel] = 1;
  }
  return mask;
}

async function whiteOf(picture: Pixels, { width, height }: Pixels): Promise<Uint8Array> {
  const { data } = await resizePixels(picture, { width, height, kernel: 'nearest' });
  const mask = new Uint8Array(width * height);
  for (let at = 0; at < data.length; at += 4) {
    const light = (data[at] as number) + (data[at + 1] as number) + (data[at + 2] as number);
    if ((data[at + 3] as number) >= holeBelow && light >= 3 * 128) mask[at / 4] = 1;
  }
  return mask;
}
