import { join } from 'node:path';
import { PlatformError } from '#common';
import type { RunShape } from '#model-memory';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { InterpolateInput, ImageOutput } from '../../images/image-tasks.js';
import { emptyImage, patternImage, type RgbPixels, wholeArea, writePlanes } from '../../images/pixel-grid.js';
import { openGraph } from '../../runtime/open-graph.js';

/** The flow is first computed at 1/32 of the size, so both sides must be multiples of this. */
const divisor = 32;

/** Measured by `npm run bench -- peak-memory`: feature maps of all scales, and the frames as numbers and bytes. */
const run: RunShape = { fixedBytes: 64 * 2 ** 20, bytesPerPixel: 240, bytesPerPixelPair: 0 };

/**
 * RIFE (https://arxiv.org/abs/2011.06294) as converted by `libs/model-store`. Inputs are two frames and a time between
 * them, planes from 0 to 1. Frames may have any size and are padded with their border.
 */
export const loadRifeFamily: EngineLoader = async ({ directory, graphFile, providers, intraOpThreads }, sink) => {
  const session = await openGraph({
    modelPath: join(directory, graphFile),
    providers,
    intraOpThreads,
    returnsMemory: true,
  });

  const interpolate = async ({ first, last, moment }: InterpolateInput, context: TaskContext): Promise<ImageOutput> => {
    if (first.width !== last.width || first.height !== last.height) {
      throw new PlatformError('INVALID_REQUEST', 'Both frames must have the same size.');
    }
    const [width, height] = [padded(first.width), padded(first.height)];
    const shape = [1, 3, height, width];
    const feeds = {
      in0: session.tensor('float32', paddedPlanes(first, width, height), shape),
      in1: session.tensor('float32', paddedPlanes(last, width, height), shape),
      in2: session.tensor('float32', new Float32Array(width * height).fill(moment), [1, 1, height, width]),
    };
    await context.yieldToEventLoop();
    const { out } = await context.measure(() => session.run(feeds, ['out']));
    const image = emptyImage(first.width, first.height);
    writePlanes({ data: out?.data as Float32Array, width, height }, wholeArea(first), {
      pixels: image,
      left: 0,
      top: 0,
    });
    return { image };
  };
  const engine = new QueuedTaskEngine({ handlers: { interpolate }, sink, onClose: () => session.release() });
  const { provider, providerNote } = session;
  const frame = patternImage(64, 64);
  const warmUp = { task: 'interpolate', input: { first: frame, last: frame, moment: 0.5 } };
  return { engine, provider, providerNote, slots: 1, run, warmUp };
};

function padded(side: number): number {
  return Math.ceil(side / divisor) * divisor;
}

function paddedPlanes({ width, height, data }: RgbPixels, toWidth: number, toHeight: number): Float32Array {
  const plane = toWidth * toHeight;
  const planes = new Float32Array(3 * plane);
  for (let row = 0; row < toHeight; row++) {
    const from = Math.min(row, height - 1) * width;
    for (let column = 0; column < toWidth; column++) {
      const pixel = (from + Math.min(column, width - 1)) * 3;
      for (let channel = 0; channel < 3; channel++) {
        planes[channel * plane + row * toWidth + column] = (data[pixel + channel] as number) / 255;
      }
    }
  }
  return planes;
}
