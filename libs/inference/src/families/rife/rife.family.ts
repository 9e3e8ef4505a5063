import { join } from 'node:path';
import { PlatformError } from '#common';
import type { RunShape } from '#model-memory';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { InterpolateInput, ImageOutput } from '../../images/image-tasks.js';
import { emptyImage, patternImage, type RgbPixels, wholeArea, writePlanes } from '../../images/pixel-grid.js';
import { type GraphTensor, releaseKept, runKeeping } from '../../runtime/graph-session.js';
import { openGraph } from '../../runtime/open-graph.js';
import { FramePlanes, type PaddedSize } from './frame-planes.js';

/** The flow is first computed at 1/32 of the size, so both sides must be multiples of this. */
const divisor = 32;

/** Measured by `npm run bench -- peak-memory`: feature maps of all scales, and the frames as numbers and bytes. */
const run: RunShape = { fixedBytes: 64 * 2 ** 20, bytesPerPixel: 240, bytesPerPixelPair: 0 };

/**
 * RIFE (https://arxiv.org/abs/2011.06294) as converted by `libs/model-store`. Inputs are two frames and a time between
 * them, planes from 0 to 1. Frames may have any size and are padded with their border. Every moment is computed from the two
 * frames around it, never from computed ones.
 */
export const loadRifeFamily: EngineLoader = async ({ directory, graphFile, providers, intraOpThreads }, sink) => {
  const session = await openGraph({
    modelPath: join(directory, graphFile),
    providers,
    intraOpThreads,
    returnsMemory: true,
  });

  const planes = new FramePlanes(session);
  const runBetween = async (frames: [RgbPixels, RgbPixels], moment: number, size: PaddedSize) => {
    const [in0, in1] = planes.interval(frames, size) as [GraphTensor, GraphTensor];
    const in2 = await planes.filled(moment, size);
    try {
      return (await runKeeping(session, { in0, in1, in2 }, ['out'], new Set()))['out'];
    } finally {
      releaseKept([in2]);
    }
  };

  const interpolate = async ({ first, last, moment }: InterpolateInput, context: TaskContext): Promise<ImageOutput> => {
    if (first.width !== last.width || first.height !== last.height) {
      throw new PlatformError('INVALID_REQUEST', 'Both frames must have the same size.');
    }
    const [width, height] = [padded(first.width), padded(first.height)];
    await context.yieldToEventLoop();
    const out = await context.measure(() => runBetween([first, last], moment, { width, height }));
    const image = emptyImage(first.width, first.height);
    writePlanes({ data: out?.data as Float32Array, width, height }, wholeArea(first), {
      pixels: image,
      left: 0,
      top: 0,
    });
    return { image };
  };
  const onClose = async (): Promise<void> => {
    await planes.release();
    await session.release();
  };
  const engine = new QueuedTaskEngine({ handlers: { interpolate }, sink, onClose });
  const { provider, providerNote } = session;
  const frame = patternImage(64, 64);
  const warmUp = { task: 'interpolate', input: { first: frame, last: frame, moment: 0.5 } };
  return { engine, provider, providerNote, slots: 1, run, warmUp };
};

function padded(side: number): number {
  return Math.ceil(side / divisor) * divisor;
}
