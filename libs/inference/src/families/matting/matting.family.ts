import { join } from 'node:path';
import { PlatformError } from '#common';
import { type MattingNetwork, readMattingNetwork } from '#model-registry/matting';
import { freeBytes } from '#platform/memory';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import type { MatteInput, MatteOutput } from '../../images/image-tasks.js';
import { patternImage, type RgbPixels } from '../../images/pixel-grid.js';
import { type Planes, resizePlanes, samplePlanes } from '../../images/resize.js';
import { floatsOf, floatTensor } from '../../runtime/float-tensor.js';
import type { GraphTensor } from '../../runtime/graph-session.js';
import { openGraph } from '../../runtime/open-graph.js';
import { mattingPorts } from './matting-graph.js';
import { mattingSize } from './matting-size.js';

/**
 * Networks that separate foreground from background, pixel by pixel: that of `familyOptions`, or of the families
 * `modnet` and `u2net`.
 */
export const loadMattingFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads } = options;
  const network = requireNetwork(options);
  const session = await openGraph({
    modelPath: join(directory, graphFile),
    providers,
    intraOpThreads,
    returnsMemory: true,
  });
  const { input, output } = mattingPorts(session, network);

  const separate = async ({ image }: MatteInput, context: TaskContext): Promise<MatteOutput> => {
    const { width, height, data } = networkInput(image, network);
    const feed = floatTensor(session, { input, data, dims: [1, 3, height, width] });
    await context.yieldToEventLoop();
    const { [output]: returned } = await context.measure(() => session.run({ [input]: feed }, [output]));
    const values = floatsOf(returned);
    const matte = { channels: 1, ...sizeOf(returned), data: postprocessed(values, network) };
    const resized = resizePlanes(matte, image.width, image.height);
    const alpha = toBytes(resized.data);
    // Many times as large as the image: they would lie in memory until a collection, and leave gaps behind.
    const used = [data, feed.data, returned?.data, values, matte.data, resized.data];
    for (const floats of new Set<unknown>(used)) freeBytes(floats);
    return { width: image.width, height: image.height, alpha };
  };
  const engine = new QueuedTaskEngine({ handlers: { matte: separate }, sink, onClose: () => session.release() });
  const { provider, providerNote } = session;
  const warmUp = { task: 'matte', input: { image: patternImage(64, 64) } };
  return { engine, provider, providerNote, slots: 1, warmUp };
};

function requireNetwork({ family, familyOptions, modelId }: HostLoadOptions): MattingNetwork {
  const { network, problems } = readMattingNetwork(family, familyOptions);
  if (network !== null) return network;
  const list = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new PlatformError('INVALID_MANIFEST', `The manifest of ${modelId} is wrong: ${list}.`, problems[0]?.path);
}

/** The image as the network wants it. */
function networkInput(image: RgbPixels, network: MattingNetwork): Planes {
  const { width, height } = mattingSize(network.size, image);
  const whole = samplePlanes(image);
  const planes = resizePlanes(whole, width, height, network.resampling);
  if (planes !== whole) freeBytes(whole.data);
  normalize(planes, network);
  return planes;
}

function normalize({ data }: Planes, { mean, deviation, scale }: MattingNetwork): void {
  const plane = data.length / 3;
  for (let channel = 0; channel < 3; channel++) {
    const [center = 0, spread = 1] = [mean[channel], deviation[channel]];
    for (let index = channel * plane; index < (channel + 1) * plane; index++) {
      // Sharp filters overshoot beside edges.
      const sample = Math.max(0, Math.min(255, data[index] as number));
      data[index] = (sample * scale - center) / spread;
    }
  }
}

/** The size of a matte, which may be smaller than the image of the network. Throws if it is not one plane. */
function sizeOf(matte: GraphTensor | undefined): { width: number; height: number } {
  const dims = matte?.dims ?? [];
  const [height = 0, width = 0] = dims.slice(-2);
  if (dims.length >= 2 && dims.slice(0, -2).every((size) => size === 1)) return { width, height };
  const message = `The network returned ${dims.join(' × ')} values instead of one matte.`;
  throw new PlatformError('INVALID_MODEL', message, 'familyOptions.output');
}

function postprocessed(values: Float32Array, { postprocess }: MattingNetwork): Float32Array {
  if (postprocess === 'sigmoid') return values.map((value) => 1 / (1 + Math.exp(-value)));
  return postprocess === 'min-max' ? stretched(values) : values;
}

function stretched(values: Float32Array): Float32Array {
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
