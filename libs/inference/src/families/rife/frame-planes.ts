import type { RgbPixels } from '../../images/pixel-grid.js';
import {
  type GraphDevice,
  type GraphSession,
  type GraphTensor,
  releaseKept,
  runKept,
} from '../../runtime/graph-session.js';

/** The frames of an interval. */
const heldFrames = 2;

interface HeldFrame {
  frame: RgbPixels;
  planes: GraphTensor;
}

/** Inputs of the network from frames of `width` by `height`, where the network runs. */
export interface PaddedSize {
  width: number;
  height: number;
}

/**
 * Frames as inputs of the network. A device keeps the frames of the last interval: they are uploaded once for all moments
 * between them, and the later one for the next interval too.
 */
export class FramePlanes {
  private held: HeldFrame[] = [];
  private filler: Promise<GraphSession> | null = null;

  constructor(private readonly session: GraphSession) {}

  /** Returns the planes of both frames, from 0 to 1. They stay valid until the next call. */
  interval(frames: readonly [RgbPixels, RgbPixels], size: PaddedSize): GraphTensor[] {
    const { device } = this.session;
    if (device === undefined) return frames.map((frame) => this.planesOf(frame, size));
    const known = this.held;
    const used: HeldFrame[] = [];
    for (const frame of frames) {
      const same = [...used, ...known].find((held) => isSame(held.frame, frame));
      used.push(same ?? { frame, planes: device.upload(this.planesOf(frame, size)) });
    }
    this.held = used.slice(-heldFrames);
    releaseKept(known.filter((held) => !used.includes(held)).map(({ planes }) => planes));
    return used.map(({ planes }) => planes);
  }

  /** Returns a plane with one value, which its holder releases. */
  async filled(value: number, { width, height }: PaddedSize): Promise<GraphTensor> {
    const { session } = this;
    const dims = [1, 1, height, width];
    if (session.device === undefined)
      return session.tensor('float32', new Float32Array(width * height).fill(value), dims);
    this.filler ??= openFiller(session.device);
    const filler = await this.filler;
    const x = filler.tensor('float32', Float32Array.of(value), [1]);
    const shape = filler.tensor('int64', BigInt64Array.from(dims, BigInt), [dims.length]);
    return (await runKept(filler, { x, shape }, ['y']))[0] as GraphTensor;
  }

  async release(): Promise<void> {
    releaseKept(new Set(this.held.map(({ planes }) => planes)));
    this.held = [];
    await (await this.filler)?.release();
  }

  private planesOf(frame: RgbPixels, { width, height }: PaddedSize): GraphTensor {
    return this.session.tensor('float32', paddedPlanes(frame, width, height), [1, 3, height, width]);
  }
}

async function openFiller(device: GraphDevice): Promise<GraphSession> {
  // Loaded on demand: processors need none of it.
  const { fillGraph } = await import('#model-store/device');
  return await device.openBeside(fillGraph());
}

function isSame(one: RgbPixels, other: RgbPixels): boolean {
  if (one.width !== other.width || one.height !== other.height) return false;
  return one.data === other.data || Buffer.compare(one.data, other.data) === 0;
}

/** Returns the planes of a frame, its border repeated up to the size. */
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
