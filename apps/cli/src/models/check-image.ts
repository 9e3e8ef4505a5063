import { PlatformError } from '#common';
import type { HostSupervisor } from '#inference/host';
import type {
  GenerateInput,
  GenerateOutput,
  ImageOutput,
  InpaintInput,
  MatteInput,
  MatteOutput,
  RgbPixels,
  UpscaleInput,
} from '#inference/tasks';
import { encodeImage, type Pixels } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, withCheckHost } from './check-host.js';
import { writeCheckOutput } from './check-output.js';

const squarePixels = 8;

/** Draws a bright disc with a fine checkered pattern on a gradient, for cutout, upscaling and inpainting. */
function checkeredDisc(side: number): RgbPixels {
  const data = new Uint8Array(side * side * 3);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const isDisc = Math.hypot(x - side / 2, y - side / 2) < side / 3;
      const isDark = (Math.floor(x / squarePixels) + Math.floor(y / squarePixels)) % 2 === 0;
      const sky = 220 - Math.round((120 * y) / side);
      data.set(isDisc ? [230, isDark ? 60 : 200, 30] : [sky - 60, sky - 20, sky], (y * side + x) * 3);
    }
  }
  return { width: side, height: side, data };
}

/** Mask of a square with a quarter of the side; 1 marks pixels to fill. */
function centerMask(side: number): Uint8Array {
  const isWithin = (at: number): boolean => Math.abs(at - side / 2) < side / 8;
  return Uint8Array.from({ length: side * side }, (_, pixel) =>
    isWithin(pixel % side) && isWithin(Math.floor(pixel / side)) ? 1 : 0,
  );
}

/** Result of one image run. */
interface ImageCheck {
  provider: string;
  loadMs: number;
  runMs: number;
  /** Time of one denoising step; null for families without steps. */
  stepMs: number | null;
  image: Pixels;
}

/** The request sent to a family. */
interface ImageOptions {
  task: string;
  input: object;
}

const side = 256;
const generatedSide = 512;
/** Fixed seed, so that every check gives the same image. */
const seed = 1;

type OptionsOf = (model: InstalledModel, options: CheckOptions) => ImageOptions;

const matting: OptionsOf = () => ({ task: 'matte', input: { image: checkeredDisc(side) } satisfies MatteInput });

const optionsByFamily: Readonly<Record<string, OptionsOf>> = {
  esrgan: () => ({ task: 'upscale', input: { image: checkeredDisc(side), scale: 2 } satisfies UpscaleInput }),
  matting,
  modnet: matting,
  u2net: matting,
  migan: () => ({
    task: 'inpaint',
    input: { image: checkeredDisc(side), mask: centerMask(side) } satisfies InpaintInput,
  }),
  'stable-diffusion': ({ manifest }, { prompt }) => ({ task: 'generate', input: generateInput(manifest, prompt) }),
};

export function isImageFamily(family: string): boolean {
  return Object.hasOwn(optionsByFamily, family);
}

/** Runs an image model once on a known image or prompt, writes the result and reports the timing. */
export async function checkImage(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const { id, family } = model.manifest;
  const task = optionsByFamily[family]?.(model, options);
  if (task === undefined) throw new PlatformError('INVALID_MODEL', `The family ${family} generates no images.`);
  const check = await withCheckHost(model, { options, signal }, (host) => run(host, task, signal));
  const content = await encodeImage(check.image, { format: 'png' });
  const path = await writeCheckOutput(options.output ?? `${id}.png`, content);
  const { image, ...times } = check;
  const { width, height } = image;
  if (options.json) return output.json({ id, ...times, width, height, output: path });
  output.line(`${id} on ${check.provider}, loaded in ${Math.round(check.loadMs)} ms`);
  const perStep = check.stepMs === null ? '' : `, ${Math.round(check.stepMs)} ms a step`;
  output.line(`${task.task} in ${Math.round(check.runMs)} ms${perStep}`);
  output.line(`${width} × ${height} pixels in ${path}`);
}

async function run(host: HostSupervisor, { task, input }: ImageOptions, signal: AbortSignal): Promise<ImageCheck> {
  const startMs = performance.now();
  const progressMs: number[] = [];
  const onProgress = () => void progressMs.push(performance.now());
  const { cancelled, output } = await host.runTask({ id: `check-${task}`, task, input }, { signal, onProgress });
  const runMs = performance.now() - startMs;
  if (cancelled || output === null) throw new PlatformError('JOB_CANCELLED', 'The check was interrupted.');
  return {
    provider: host.report?.provider ?? 'cpu',
    loadMs: host.report?.loadMs ?? 0,
    runMs,
    stepMs: task === 'generate' ? meanInterval([startMs, ...progressMs]) : null,
    image: imageOf(input, output),
  };
}

function meanInterval(times: readonly number[]): number | null {
  const [first = 0] = times;
  return times.length < 2 ? null : ((times.at(-1) ?? first) - first) / (times.length - 1);
}

/** The cutout keeps its colors; the matte becomes the alpha channel. */
function imageOf(input: object, output: object): Pixels {
  if ('images' in output) {
    const [image] = (output as GenerateOutput).images;
    if (image === undefined) throw new PlatformError('INFERENCE_FAILED', 'The model returned no image.');
    return { ...image, channels: 3 };
  }
  if (!('alpha' in output)) return { ...(output as ImageOutput).image, channels: 3 };
  const { width, height, alpha } = output as MatteOutput;
  const { image } = input as { image: RgbPixels };
  const data = Uint8Array.from({ length: width * height * 4 }, (_, at) => {
    const pixel = Math.floor(at / 4);
    return (at % 4 === 3 ? alpha[pixel] : image.data[pixel * 3 + (at % 4)]) ?? 0;
  });
  return { width, height, channels: 4, data };
}

function generateInput(manifest: InstalledModel['manifest'], prompt: string): GenerateInput {
  const { constraints, familyOptions, kindMembers } = manifest;
  const { nativeSide: drawnSide = generatedSide } = (kindMembers?.['upscaling'] ?? {}) as { nativeSide?: number };
  const bounds = (constraints as { steps?: { default?: number } } | undefined)?.steps;
  const guidance = familyOptions?.guidance;
  return {
    prompt,
    negativePrompt: '',
    width: drawnSide,
    height: drawnSide,
    steps: bounds?.default ?? 20,
    guidance: typeof guidance === 'number' ? guidance : 7.5,
    seeds: [seed],
    image: null,
    strength: 1,
    mask: null,
  };
}
