import { join } from 'node:path';
import type { RunShape } from '#model-memory';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { InpaintInput, ImageOutput } from '../../images/image-tasks.js';
import { patternImage, type RgbPixels } from '../../images/pixel-grid.js';
import { openGraph } from '../../runtime/open-graph.js';
import { dilateMask } from './dilated-mask.js';

const unmaskedSample = 255;
/**
 * Pixels on both sides of the mask's edge over which the pipeline blends the filled area with the image. It gets a mask
 * that is larger by as much: otherwise the rim of the removed object would stay and color the filled area.
 */
const blendReach = 3;

/** Measured by `npm run bench -- peak-memory`: the image, its mask and the blended result as numbers, at full size. */
const run: RunShape = { fixedBytes: 300 * 2 ** 20, bytesPerPixel: 200, bytesPerPixelPair: 0 };

/**
 * MI-GAN
 * (https://openaccess.thecvf.com/content/ICCV2023/papers/Sargsyan_MI-GAN_A_Simple_Baseline_for_Image_Inpainting_on_Mobile_Devices_ICCV_2023_paper.pdf)
 * as a complete pipeline. Inputs are bytes: `image` `[1, 3, h, w]` and `mask` `[1, 1, h, w]`, 255 where the image is
 * kept. `result` is the filled image at any size. Unmasked pixels are returned bit by bit as they came.
 */
export const loadMiganFamily: EngineLoader = async ({ directory, graphFile, providers, intraOpThreads }, sink) => {
  const session = await openGraph({
    modelPath: join(directory, graphFile),
    providers,
    intraOpThreads,
    returnsMemory: true,
  });

  const inpaint = async ({ image, mask }: InpaintInput, context: TaskContext): Promise<ImageOutput> => {
    // Nothing to fill; the pipeline expects a masked area.
    if (mask.every((value) => value === 0)) return { image };
    const { width, height } = image;
    const pipelineMask = dilateMask(mask, width, blendReach).map((value) => (value === 0 ? unmaskedSample : 0));
    const feeds = {
      image: session.tensor('uint8', bytePlanes(image), [1, 3, height, width]),
      mask: session.tensor('uint8', pipelineMask, [1, 1, height, width]),
    };
    await context.yieldToEventLoop();
    const { result } = await context.measure(() => session.run(feeds, ['result']));
    return { image: filled(image, mask, result?.data as Uint8Array) };
  };
  const engine = new QueuedTaskEngine({ handlers: { inpaint }, sink, onClose: () => session.release() });
  const { provider, providerNote } = session;
  const mask = new Uint8Array(64 * 64).fill(1, 0, 512);
  const warmUp = { task: 'inpaint', input: { image: patternImage(64, 64), mask } };
  return { engine, provider, providerNote, slots: 1, warmUp, run };
};

function bytePlanes({ width, height, data }: RgbPixels): Uint8Array {
  const plane = width * height;
  const planes = new Uint8Array(3 * plane);
  for (let pixel = 0; pixel < plane; pixel++) {
    for (let channel = 0; channel < 3; channel++) planes[channel * plane + pixel] = data[pixel * 3 + channel] as number;
  }
  return planes;
}

/** The image, with the color planes where it is masked. */
function filled({ width, height, data }: RgbPixels, mask: Uint8Array, planes: Uint8Array): RgbPixels {
  const plane = width * height;
  const result = { width, height, data: Uint8Array.from(data) };
  for (let pixel = 0; pixel < plane; pixel++) {
    if (mask[pixel] === 0) continue;
    for (let channel = 0; channel < 3; channel++) {
      result.data[pixel * 3 + channel] = planes[channel * plane + pixel] as number;
    }
  }
  return result;
}
