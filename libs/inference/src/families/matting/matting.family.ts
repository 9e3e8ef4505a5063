import { join } from 'node:path';
import { freeBytes } from '#platform/memory';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { MatteInput, MatteOutput } from '../../images/image-tasks.js';
import { patternImage, type RgbPixels } from '../../images/pixel-grid.js';
import { type Planes, resizePlanes, samplePlanes } from '../../images/resize.js';
import { openGraph } from '../../runtime/open-graph.js';
import { modnetSize } from './modnet-size.js';

/** How a matting network wants its input image and how its output is read. */
interface MattingNetwork {
  sizeFor(image: { width: number; height: number }): { width: number; height: number };
  mean: readonly [number, number, number];
  deviation: readonly [number, number, number];
  /** True when the minimum and maximum of the output mean background and foreground. */
  stretched: boolean;
}

/** MODNet (https://arxiv.org/abs/2011.11961): the output is the matte. */
const modnet: MattingNetwork = {
  sizeFor: modnetSize,
  mean: [0.5, 0.5, 0.5],
  deviation: [0.5, 0.5, 0.5],
  stretched: false,
};

/**
 * U²-Net (https://arxiv.org/abs/2005.09007): 320 by 320, ImageNet statistics; the output is stretched to the range 0 to
 * 1.
 */
const u2net: MattingNetwork = {
  sizeFor: () => ({ width: 320, height: 320 }),
  mean: [0.485, 0.456, 0.406],
  deviation: [0.229, 0.224, 0.225],
  stretched: true,
};

export const loadModnetFamily = mattingLoader(modnet);
export const loadU2netFamily = mattingLoader(u2net);

/** Networks that separate foreground from background, pixel by pixel. */
function mattingLoader(network: MattingNetwork): EngineLoader {
  return async ({ directory, graphFile, providers, intraOpThreads }, sink) => {
    const session = await openGraph({
      modelPath: join(directory, graphFile),
      providers,
      intraOpThreads,
      returnsMemory: true,
    });
    const [input] = session.inputs;
    // U²-Net also returns its side outputs; the first output is the fused one.
    const [output] = session.outputs;

    const separate = async ({ image }: MatteInput, context: TaskContext): Promise<MatteOutput> => {
      const { width, height, data } = networkInput(image, network);
      const feeds = { [input?.name ?? '']: session.tensor('float32', data, [1, 3, height, width]) };
      await context.yieldToEventLoop();
      const outputs = await context.measure(() => session.run(feeds, [output?.name ?? '']));
      const values = Object.values(outputs)[0]?.data as Float32Array;
      const matte = { channels: 1, width, height, data: stretched(values, network) };
      const resized = resizePlanes(matte, image.width, image.height);
      const alpha = toBytes(resized.data);
      // Many times as large as the image: they would lie in memory until a collection, and leave gaps behind.
      for (const floats of [data, values, matte.data, resized.data]) freeBytes(floats);
      return { width: image.width, height: image.height, alpha };
    };
    const engine = new QueuedTaskEngine({ handlers: { matte: separate }, sink, onClose: () => session.release() });
    const { provider, providerNote } = session;
    const warmUp = { task: 'matte', input: { image: patternImage(64, 64) } };
    return { engine, provider, providerNote, slots: 1, warmUp };
  };
}

/** The image as the network wants it. */
function networkInput(image: RgbPixels, network: MattingNetwork): Planes {
  const { width, height } = network.sizeFor(image);
  const whole = samplePlanes(image);
  const planes = resizePlanes(whole, width, height);
  if (planes !== whole) freeBytes(whole.data);
  normalize(planes, network);
  return planes;
}

function normalize({ data }: Planes, { mean, deviation }: MattingNetwork): void {
  const plane = data.length / 3;
  for (let index = 0; index < data.length; index++) {
    const channel = Math.floor(index / plane);
    data[index] = ((data[index] as number) / 255 - (mean[channel] ?? 0)) / (deviation[channel] ?? 1);
  }
}

function stretched(values: Float32Array, network: MattingNetwork): Float32Array {
  if (!network.stretched) return values;
  let [min, greatest] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < min) min = value;
    if (value > greatest) greatest = value;
  }
  const range = greatest - min;
  // An image of one color has no foreground.
  return range > 0 ? values.map((value) => (value - min) / range) : new Float32Array(values.length);
}

function toBytes(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length);
  for (let index = 0; index < values.length; index++) {
    bytes[index] = Math.max(0, Math.min(255, Math.round((values[index] as number) * 255)));
  }
  return bytes;
}
