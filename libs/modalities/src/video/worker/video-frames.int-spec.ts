import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskRunner } from '#inference/host';
import type { UpscaleInput } from '#inference/tasks';
import { MediaTools, probeVideo } from '#media';
import { unitsOfMaking, unitsOfUpscaling, type VideoJobPayload } from '../contract/index.js';
import { FrameModel } from './frame-model.js';
import { videoDoubled, videoUpscaled } from './video-frames.js';

/** Five seconds at ten frames per second. */
const video = ['-f', 'lavfi', '-i', 'testsrc=size=32x32:rate=10:duration=5', '-c:v', 'libvpx'];
const open = {
  inputs: [],
  places: [],
  width: 0,
  height: 0,
  fps: 0,
  frames: 0,
  scale: 2,
  audio: true,
  maxSeconds: 300,
  resultId: null,
} as const;

/** The same video with another length in the Duration of its Segment Info: an 8-byte float of milliseconds. */
function claiming(webm: Buffer, seconds: number): Buffer {
  const forged = Buffer.from(webm);
  const place = forged.indexOf(Buffer.from('448988', 'hex'));
  expect(forged.readDoubleBE(place + 3)).toBe(5_000);
  forged.writeDoubleBE(seconds * 1_000, place + 3);
  return forged;
}

describe('a video paid by the length in its header', () => {
  let folder: string;
  let media: MediaTools;
  let honest: Buffer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-claims-'));
    media = await MediaTools.find({ temporaryFolder: join(folder, 'temporary') });
    const path = join(folder, 'honest.webm');
    await promisify(execFile)('ffmpeg', ['-loglevel', 'error', ...video, path]);
    honest = await readFile(path);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Processes a video whose header claims a length, as it would be quoted; returns how often the model ran. */
  async function made(operation: 'upscale' | 'double-rate', claimedSeconds: number) {
    const path = join(folder, `${claimedSeconds}.webm`);
    await writeFile(path, claiming(honest, claimedSeconds));
    const { durationSeconds: seconds } = await probeVideo(media, { path }, { maxSeconds: 300 });
    expect(seconds).toBeCloseTo(claimedSeconds, 2);
    let asked = 0;
    const runner: TaskRunner = {
      runTask: ({ task, input }) => {
        asked += 1;
        const image = task === 'upscale' ? (input as UpscaleInput).image : { width: 32, height: 32, data: empty };
        return Promise.resolve({ cancelled: false, output: { image } });
      },
    };
    const { signal } = new AbortController();
    const parts = { media, model: new FrameModel(runner, 'r', signal), signal, timeoutMs: 60_000, path };
    const units =
      operation === 'upscale'
        ? unitsOfUpscaling({ seconds, factor: 2 })
        : unitsOfMaking(null, { seconds, resolution: null });
    const payload: VideoJobPayload = { ...open, inputs: ['i'], places: [], operation, units };
    const make = operation === 'upscale' ? videoUpscaled : videoDoubled;
    let frames = 0;
    const reading = (async () => {
      for await (const { pixels } of (await make(payload, parts)).frames) {
        await pixels;
        frames += 1;
      }
    })();
    const code = await reading.then(
      () => null,
      (error: unknown) => (error as { code?: string }).code,
    );
    return { code, frames, asked };
  }

  it('is processed completely when the header is right, or slightly short', async () => {
    expect(await made('upscale', 5)).toEqual({ code: null, frames: 50, asked: 50 });
    expect(await made('upscale', 4.6)).toEqual({ code: null, frames: 50, asked: 50 });
    expect(await made('double-rate', 4.9)).toEqual({ code: null, frames: 100, asked: 49 });
  });

  it('is refused when it runs longer, and the model processes no more than was paid for', async () => {
    expect(await made('upscale', 0.001)).toEqual({ code: 'INVALID_VIDEO_FORMAT', frames: 3, asked: 3 });
    expect(await made('upscale', 4)).toMatchObject({ code: 'INVALID_VIDEO_FORMAT', asked: 47 });
    expect(await made('double-rate', 0.001)).toMatchObject({ code: 'INVALID_VIDEO_FORMAT', asked: 2 });
  });
});

const empty = new Uint8Array(32 * 32 * 3);
