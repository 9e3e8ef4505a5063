import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mediaEngines } from '#test/media-engines';
import {
  decodeWholeAudio,
  encodeWholeAudio,
  MediaTools,
  probeVideo,
  readFrames,
  sampleFrames,
  writeVideo,
} from '../index.js';

const limits = { maxSeconds: 60 };
const fps = { numerator: 24, denominator: 1 };

describe.each(mediaEngines)('video by the %s', (_name, engine) => {
  let folder: string;
  let tools: MediaTools;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-video-'));
    tools = await MediaTools.find({ temporaryFolder: join(folder, 'temporary'), ...engine });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Frames of one color each, increasingly red. */
  function* reddening(count: number, { width, height }: { width: number; height: number }): Generator<Uint8Array> {
    for (let index = 0; index < count; index += 1) {
      const data = new Uint8Array(width * height * 3);
      for (let position = 0; position < data.length; position += 3) data[position] = (index * 8) % 256;
      yield data;
    }
  }

  async function made(name: string, ...args: string[]): Promise<string> {
    const path = join(folder, name);
    await promisify(execFile)('ffmpeg', ['-loglevel', 'error', '-y', ...args, path]);
    return path;
  }

  async function redsOf(
    path: string,
    options: { width?: number; height?: number; fps?: number } = {},
  ): Promise<number[]> {
    const reds: number[] = [];
    for await (const frame of readFrames(tools, { path }, { limits, ...options })) {
      expect(frame.data).toHaveLength(frame.width * frame.height * 3);
      reds.push(frame.data[0] ?? 0);
    }
    return reds;
  }

  it('keeps its frames, rate and audio, and plays before it is completely loaded', async () => {
    const path = join(folder, 'kept.mp4');
    const size = { width: 64, height: 48 };
    const audio = await encodeWholeAudio(tools, new Float32Array(16_000).fill(0.1), {
      format: 'wav',
      sampleRate: 16_000,
    });
    const written = await writeVideo(tools, path, reddening(30, size), { ...size, fps, audio });
    const bytes = await readFile(path);
    expect(written).toEqual({ frames: 30, bytes: bytes.length });
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
    const probe = await probeVideo(tools, { path }, limits);
    expect(probe).toMatchObject({ ...size, fps, frames: 30, codec: 'h264', audio: { codec: 'aac' } });
    expect(probe.durationSeconds).toBeCloseTo(1.25, 1);
    const reds = await redsOf(path);
    expect(reds).toHaveLength(30);
    for (const [index, red] of reds.entries()) expect(Math.abs(red - index * 8)).toBeLessThan(8);
  });

  it('is as long as its frames, whatever its audio', async () => {
    const size = { width: 32, height: 32 };
    for (const seconds of [0.2, 5]) {
      const path = join(folder, `sound-${seconds}.mp4`);
      const samples = new Float32Array(16_000 * seconds);
      const audio = await encodeWholeAudio(tools, samples, { format: 'flac', sampleRate: 16_000 });
      await writeVideo(tools, path, reddening(24, size), { ...size, fps, audio });
      expect(await redsOf(path)).toHaveLength(24);
      const { durationSeconds } = await probeVideo(tools, { path }, limits);
      expect(Math.abs(durationSeconds - 1)).toBeLessThan(0.2);
      const decoded = await decodeWholeAudio(tools, { path }, { sampleRate: 16_000, maxSeconds: 60 });
      expect(Math.abs(decoded.length / 16_000 - 1)).toBeLessThan(0.2);
    }
  });

  it('takes audio from another video, and none if that has none', async () => {
    const size = { width: 32, height: 32 };
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=1'];
    const silent = await made('silent.mp4', ...video, '-c:v', 'libx264');
    const path = join(folder, 'from-silent.mp4');
    await writeVideo(tools, path, reddening(24, size), { ...size, fps, audio: { path: silent } });
    expect(await probeVideo(tools, { path }, limits)).toMatchObject({ audio: null, frames: 24 });
  });

  it('supports odd sizes and exact rates', async () => {
    const path = join(folder, 'odd.mp4');
    const size = { width: 65, height: 49 };
    const rate = { numerator: 30_000, denominator: 1_001 };
    await writeVideo(tools, path, reddening(10, size), { ...size, fps: rate });
    expect(await probeVideo(tools, { path }, limits)).toMatchObject({ width: 64, height: 48, fps: rate });
  });

  it('is read upright, in the requested size and at the requested rate', async () => {
    const size = { width: 64, height: 48 };
    const path = join(folder, 'plain.mp4');
    await writeVideo(tools, path, reddening(24, size), { ...size, fps });
    expect(await redsOf(path, { width: 20, height: 10 })).toHaveLength(24);
    expect(await redsOf(path, { fps: 12 })).toHaveLength(12);
    expect(await redsOf(path, { fps: 48 })).toHaveLength(48);
    const turned = await made('turned.mp4', '-i', path, '-c', 'copy', '-metadata:s:v:0', 'rotate=90');
    expect(await probeVideo(tools, { path: turned }, limits)).toMatchObject({ width: 48, height: 64 });
    for await (const frame of readFrames(tools, { path: turned }, { limits })) {
      expect(frame).toMatchObject({ width: 48, height: 64 });
      break;
    }
  });

  /** Returns the color in the middle of the first frame. */
  async function colourOf(path: string): Promise<number[]> {
    for await (const { data, width, height } of readFrames(tools, { path }, { limits })) {
      const middle = (Math.floor(height / 2) * width + Math.floor(width / 2)) * 3;
      return [...data.subarray(middle, middle + 3)];
    }
    return [];
  }

  /** Returns the properties of a video track that players use. */
  async function tagsOf(path: string): Promise<Record<string, string>> {
    const entries = 'stream=color_space,color_transfer,color_primaries,color_range,sample_aspect_ratio';
    const args = ['-v', 'error', '-select_streams', 'v', '-show_entries', entries, '-of', 'json', path];
    const { stdout } = await promisify(execFile)('ffprobe', args);
    return (JSON.parse(stdout) as { streams: Record<string, string>[] }).streams[0] ?? {};
  }

  const colours = [
    [200, 30, 30],
    [30, 200, 30],
    [30, 30, 200],
    [230, 220, 20],
  ];

  function expectColour(seen: readonly number[], meant: readonly number[]): void {
    for (const [channel, level] of meant.entries()) expect(Math.abs((seen[channel] ?? 0) - level)).toBeLessThan(6);
  }

  it.each([
    ['small', { width: 64, height: 48 }],
    ['large', { width: 1_280, height: 720 }],
  ])('states its colour matrix, and preserves colours: %s', async (name, size) => {
    const path = join(folder, `colours-${name}.mp4`);
    for (const colour of colours) {
      const frame = Uint8Array.from({ length: size.width * size.height * 3 }, (_, index) => colour[index % 3] ?? 0);
      await writeVideo(tools, path, [frame], { ...size, fps });
      expectColour(await colourOf(path), colour);
      // The formula of BT.709 at its range of 16 to 235.
      const [red = 0, green = 0, blue = 0] = colour;
      const luma = 16 + (219 / 255) * (0.2126 * red + 0.7152 * green + 0.0722 * blue);
      const args = ['-v', 'error', '-i', path, '-frames:v', '1', '-f', 'rawvideo', '-pix_fmt', 'yuv420p', 'pipe:1'];
      const { stdout } = await promisify(execFile)('ffmpeg', args, { encoding: 'buffer', maxBuffer: 10_000_000 });
      expect(Math.abs((stdout[0] ?? 0) - luma)).toBeLessThan(3);
    }
    const bt709 = { color_space: 'bt709', color_transfer: 'bt709', color_primaries: 'bt709', color_range: 'tv' };
    expect(await tagsOf(path)).toMatchObject(bt709);
  });

  it.each([
    ['small, as they were before', '320x240', 'bt601'],
    ['large, as all do', '1280x720', 'bt709'],
  ])('is read with the colours that players show if it states none: %s', async (_what, size, matrix) => {
    const plain = ['-f', 'lavfi', '-i', `color=c=0xc81e1e:size=${size}:rate=10:duration=0.1`];
    const untagged = ['-vf', `scale=out_color_matrix=${matrix}:out_range=tv,format=yuv420p`, '-c:v', 'libx264'];
    const path = await made('untold.mp4', ...plain, ...untagged);
    expect((await tagsOf(path)).color_space).toBeUndefined();
    expectColour(await colourOf(path), [200, 30, 30]);
  });

  it('keeps its pixel aspect ratio, also when rotated', async () => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=72x58:rate=10:duration=0.5', '-vf', 'setsar=16/11'];
    const wide = await made('wide.mp4', ...video, '-c:v', 'libx264');
    const turned = await made('wide-turned.mp4', '-i', wide, '-c', 'copy', '-metadata:s:v:0', 'rotate=90');
    for (const [path, aspect] of [
      [wide, { numerator: 16, denominator: 11 }],
      [turned, { numerator: 11, denominator: 16 }],
    ] as const) {
      const { width, height, pixelAspect } = await probeVideo(tools, { path }, limits);
      expect(pixelAspect).toEqual(aspect);
      const copy = join(folder, 'wide-copy.mp4');
      await writeVideo(tools, copy, reddening(2, { width, height }), { width, height, fps, pixelAspect });
      expect(await probeVideo(tools, { path: copy }, limits)).toMatchObject({ pixelAspect: aspect });
    }
    const square = join(folder, 'square.mp4');
    await writeVideo(tools, square, reddening(2, { width: 64, height: 48 }), { width: 64, height: 48, fps });
    expect((await probeVideo(tools, { path: square }, limits)).pixelAspect).toBeNull();
  });

  it('is read from its video track, not from its cover image', async () => {
    const video = await made(
      'movie.mp4',
      '-f',
      'lavfi',
      '-i',
      'testsrc=size=64x48:rate=10:duration=1',
      '-c:v',
      'libx264',
    );
    const cover = await made('cover.png', '-f', 'lavfi', '-i', 'color=c=red:size=32x32', '-frames:v', '1');
    const maps = ['-map', '1:v', '-map', '0:v', '-c', 'copy', '-disposition:v:0', 'attached_pic'];
    const covered = await made('covered.mp4', '-i', video, '-i', cover, ...maps);
    const bytes = withTagsFirst(await readFile(covered));
    expect(await probeVideo(tools, bytes, limits)).toMatchObject({ width: 64, height: 48 });
    let frames = 0;
    for await (const { width } of readFrames(tools, bytes, { limits })) frames += width === 64 ? 1 : 0;
    expect(frames).toBe(10);
  });

  /** Returns the boxes of an mp4 segment, by name. */
  function boxesOf(bytes: Buffer): { name: string; box: Buffer }[] {
    const boxes = [];
    for (let offset = 0; offset < bytes.length; offset += bytes.readUInt32BE(offset)) {
      const name = bytes.toString('latin1', offset + 4, offset + 8);
      boxes.push({ name, box: bytes.subarray(offset, offset + bytes.readUInt32BE(offset)) });
    }
    return boxes;
  }

  /** Rewrites an mp4 with the cover before the tracks, as some programs do; its samples stay in place. */
  function withTagsFirst(mp4: Buffer): Buffer {
    const parts = boxesOf(mp4);
    expect(parts.at(-1)?.name).toBe('moov');
    const moov = parts.pop()?.box ?? Buffer.alloc(8);
    const inner = boxesOf(moov.subarray(8));
    const tags = inner.filter(({ name }) => name === 'udta');
    const others = inner.filter(({ name }) => name !== 'udta');
    return Buffer.concat([
      ...parts.map(({ box }) => box),
      moov.subarray(0, 8),
      ...[...tags, ...others].map(({ box }) => box),
    ]);
  }

  it('is as long as its frames, however long its audio is', async () => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=1'];
    const audio = ['-f', 'lavfi', '-i', 'sine=duration=20'];
    const path = await made('sounds-on.mp4', ...video, ...audio, '-c:v', 'libx264', '-c:a', 'aac');
    expect((await probeVideo(tools, { path }, { maxSeconds: 5 })).durationSeconds).toBeCloseTo(1, 1);
  });

  it('includes the time before its first frame, as a cut without re-encoding leaves it', async () => {
    const audio = ['-f', 'lavfi', '-i', 'sine=duration=4'];
    const images = ['-itsoffset', '2', '-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=2'];
    const path = await made('late.mp4', ...audio, ...images, '-map', '1:v', '-map', '0:a', '-c:v', 'libx264');
    const { durationSeconds } = await probeVideo(tools, { path }, limits);
    expect(durationSeconds).toBeCloseTo(4, 0);
    const reds = await redsOf(path, { fps: 10 });
    expect(Math.abs(reds.length - 40)).toBeLessThanOrEqual(2);
  });

  it('has its whole length if it is fragmented', async () => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=6', '-c:v', 'libx264', '-g', '10'];
    const flags = 'frag_keyframe+empty_moov+default_base_moof';
    const path = await made('pieces.mp4', ...video, '-movflags', flags);
    expect((await probeVideo(tools, { path }, limits)).durationSeconds).toBeCloseTo(6, 1);
    expect(await redsOf(path, { fps: 10 })).toHaveLength(60);
  });

  describe('that states no duration, as browsers record', () => {
    const pattern = (seconds: number, rate = 30) => [
      ...['-f', 'lavfi', '-i', `testsrc=size=64x48:rate=${rate}:duration=${seconds}`],
      ...['-f', 'lavfi', '-i', `sine=duration=${seconds + 1}`],
    ];
    const live = ['-c:v', 'libvpx', '-c:a', 'libopus', '-live', '1'];

    it('is as long as its frames, at their mean rate', async () => {
      const path = await made('live.webm', ...pattern(2), ...live);
      const probe = await probeVideo(tools, { path }, limits);
      expect(probe.durationSeconds).toBeCloseTo(2, 1);
      expect(probe).toMatchObject({ fps: { numerator: 30, denominator: 1 }, audio: { codec: 'opus' } });
      expect((await redsOf(path, { fps: 10 })).length).toBeCloseTo(20, -1);
      expect(await redsOf(path)).toHaveLength(60);
    });

    it('is measured where its frames come irregularly', async () => {
      const irregular = ['-vf', 'settb=1/1000,setpts=N/(30*TB)+9*random(0)', '-fps_mode', 'passthrough'];
      const path = await made('irregular.webm', ...pattern(2), ...irregular, '-enc_time_base', '1:1000', ...live);
      const { durationSeconds, fps } = await probeVideo(tools, { path }, limits);
      expect(durationSeconds).toBeCloseTo(2, 1);
      expect(fps.numerator / fps.denominator).toBeCloseTo(30, 0);
    });

    it('is refused if it is too long or too fast, and measured no further', async () => {
      const path = await made('long.webm', ...pattern(4), ...live);
      const long = probeVideo(tools, { path }, { ...limits, maxSeconds: 2 });
      await expect(long).rejects.toMatchObject({ code: 'VIDEO_DURATION_TOO_LONG' });
      const fast = probeVideo(tools, { path }, { ...limits, maxSeconds: 5, maxFps: 20 });
      await expect(fast).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    });

    it('is as long as what arrived if it is cut off', async () => {
      const bytes = await readFile(await made('cut.webm', ...pattern(4), ...live));
      const probe = await probeVideo(tools, bytes.subarray(0, bytes.length * 0.6), limits);
      expect(probe.durationSeconds).toBeGreaterThan(0.5);
      expect(probe.durationSeconds).toBeLessThan(3.9);
    });
  });

  it.each(['smpte2084', 'arib-std-b67'])('is rejected in a range that would come out grey: %s', async (curve) => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=0.5', '-c:v', 'libx264'];
    const tags = ['-color_trc', curve, '-color_primaries', 'bt2020', '-colorspace', 'bt2020nc'];
    const path = await made(`${curve}.mp4`, ...video, ...tags);
    const refused = { code: 'INVALID_VIDEO_FORMAT', message: expect.stringContaining('HDR') as string };
    await expect(probeVideo(tools, { path }, limits)).rejects.toMatchObject(refused);
  });

  it('is rejected by its header if it is too long, too large or too fast', async () => {
    const video = (rate: number) => [
      '-f',
      'lavfi',
      '-i',
      `testsrc=size=320x240:rate=${rate}:duration=3`,
      '-c:v',
      'libx264',
    ];
    const source = { path: await made('three.mp4', ...video(10)) };
    const probe = (options: object) => probeVideo(tools, source, { ...limits, ...options });
    await expect(probe({ maxSeconds: 2 })).rejects.toMatchObject({ code: 'VIDEO_DURATION_TOO_LONG' });
    await expect(probe({ maxSide: 300 })).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    await expect(probe({ maxFps: 9 })).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    expect(await probe({ maxSeconds: 3, maxSide: 320, maxFps: 10 })).toMatchObject({ frames: 30 });
  });

  it('is rejected if it is damaged', async () => {
    const bytes = await readFile(await made('whole.mp4', '-f', 'lavfi', '-i', 'testsrc=duration=1', '-c:v', 'libx264'));
    for (const broken of [bytes.subarray(0, bytes.length / 2), Buffer.alloc(0), Buffer.from('GIF89a')]) {
      await expect(probeVideo(tools, broken, limits)).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    }
  });

  it('is encoded while its frames are generated, with at most one waiting', async () => {
    const path = join(folder, 'paced.mp4');
    const size = { width: 640, height: 480 };
    let made = 0;
    async function* frames() {
      for (const frame of reddening(40, size)) {
        made += 1;
        yield frame;
      }
    }
    const iterator = frames();
    const writing = writeVideo(tools, path, iterator, { ...size, fps });
    expect(made).toBeLessThan(2);
    await writing;
    expect(made).toBe(40);
  });

  it('ends on abort, on its limits, and with the error of its frames', async () => {
    const size = { width: 64, height: 48 };
    const write = (frames: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, options: object = {}) =>
      writeVideo(tools, join(folder, 'ended.mp4'), frames, { ...size, fps, ...options });
    const stop = new AbortController();
    async function* stopping() {
      yield* reddening(2, size);
      stop.abort(new Error('nobody watches'));
      yield* reddening(2, size);
    }
    await expect(write(stopping(), { signal: stop.signal })).rejects.toThrow('nobody watches');
    async function* failing() {
      yield* reddening(2, size);
      throw new Error('the brush broke');
    }
    await expect(write(failing())).rejects.toThrow('the brush broke');
    await expect(write([new Uint8Array(5)])).rejects.toThrow(RangeError);
    await expect(write(reddening(200, size), { maxBytes: 3_000 })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    async function* endless() {
      for (;;) {
        yield* reddening(1, size);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    await expect(write(endless(), { timeoutMs: 500 })).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  it('gives frames from the middles of equal parts, within a size', async () => {
    const path = join(folder, 'sampled.mp4');
    const size = { width: 128, height: 64 };
    await writeVideo(tools, path, reddening(32, size), { ...size, fps: { numerator: 8, denominator: 1 } });
    const options = { count: 4, maxSide: 64, limits };
    const frames = await sampleFrames(tools, { path }, options);
    expect(frames.map(({ seconds, width, height }) => [seconds, width, height])).toEqual([
      [0.5, 64, 32],
      [1.5, 64, 32],
      [2.5, 64, 32],
      [3.5, 64, 32],
    ]);
    // A frame is eight redder than the one before it; encoding loses a little.
    frames.forEach(({ data, seconds }) => expect(Math.abs((data[0] ?? 0) - seconds * 64)).toBeLessThan(16));
    const enlarged = await sampleFrames(tools, await readFile(path), {
      ...options,
      count: 1,
      maxSide: 512,
      minSide: 80,
    });
    expect(enlarged).toMatchObject([{ seconds: 2, width: 160, height: 80 }]);
  });

  it('gives short videos fewer frames, and says what is wrong with others', async () => {
    const short = await made('short.mp4', '-f', 'lavfi', '-i', 'color=size=64x64:rate=10:duration=0.4');
    expect(await sampleFrames(tools, { path: short }, { count: 8, maxSide: 64, limits })).toHaveLength(1);
    const options = { count: 2, maxSide: 64, limits: { maxSeconds: 0.1 } };
    await expect(sampleFrames(tools, { path: short }, options)).rejects.toMatchObject({
      code: 'VIDEO_DURATION_TOO_LONG',
    });
    await expect(sampleFrames(tools, Buffer.from('text'), { ...options, limits })).rejects.toMatchObject({
      code: 'INVALID_VIDEO_FORMAT',
    });
  });
});
