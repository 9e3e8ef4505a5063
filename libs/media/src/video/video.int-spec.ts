import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeWholeAudio, encodeWholeAudio, MediaTools, probeVideo, readFrames, writeVideo } from '../index.js';

const limits = { maxSeconds: 60 };
const fps = { numerator: 24, denominator: 1 };

describe('video', () => {
  let folder: string;
  let tools: MediaTools;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-video-'));
    tools = await MediaTools.find({ temporaryFolder: join(folder, 'temporary') });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Frames of one colour each, that grows redder. */
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

  async function redsOf(path: string, wish: { width?: number; height?: number; fps?: number } = {}): Promise<number[]> {
    const reds: number[] = [];
    for await (const frame of readFrames(tools, { path }, { limits, ...wish })) {
      expect(frame.data).toHaveLength(frame.width * frame.height * 3);
      reds.push(frame.data[0] ?? 0);
    }
    return reds;
  }

  it('keeps its frames, their rate and its sound, and plays before it has arrived', async () => {
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

  it('is as long as its frames, whatever the sound is', async () => {
    const size = { width: 32, height: 32 };
    for (const seconds of [0.2, 5]) {
      const path = join(folder, `sound-${seconds}.mp4`);
      const sound = new Float32Array(16_000 * seconds);
      const audio = await encodeWholeAudio(tools, sound, { format: 'flac', sampleRate: 16_000 });
      await writeVideo(tools, path, reddening(24, size), { ...size, fps, audio });
      expect(await redsOf(path)).toHaveLength(24);
      const { durationSeconds } = await probeVideo(tools, { path }, limits);
      expect(Math.abs(durationSeconds - 1)).toBeLessThan(0.2);
      const heard = await decodeWholeAudio(tools, { path }, { sampleRate: 16_000, maxSeconds: 60 });
      expect(Math.abs(heard.length / 16_000 - 1)).toBeLessThan(0.2);
    }
  });

  it('takes its sound from another video, and none where that has none', async () => {
    const size = { width: 32, height: 32 };
    const film = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=1'];
    const silent = await made('silent.mp4', ...film, '-c:v', 'libx264');
    const path = join(folder, 'from-silent.mp4');
    await writeVideo(tools, path, reddening(24, size), { ...size, fps, audio: { path: silent } });
    expect(await probeVideo(tools, { path }, limits)).toMatchObject({ audio: null, frames: 24 });
  });

  it('may have odd sizes and exact rates', async () => {
    const path = join(folder, 'odd.mp4');
    const size = { width: 65, height: 49 };
    const rate = { numerator: 30_000, denominator: 1_001 };
    await writeVideo(tools, path, reddening(10, size), { ...size, fps: rate });
    expect(await probeVideo(tools, { path }, limits)).toMatchObject({ width: 64, height: 48, fps: rate });
  });

  it('is read upright, in the wanted size and at the wanted rate', async () => {
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

  it('is refused by its header when it is too long, too large or too fast', async () => {
    const film = (rate: number) => [
      '-f',
      'lavfi',
      '-i',
      `testsrc=size=320x240:rate=${rate}:duration=3`,
      '-c:v',
      'libx264',
    ];
    const source = { path: await made('three.mp4', ...film(10)) };
    const probe = (wish: object) => probeVideo(tools, source, { ...limits, ...wish });
    await expect(probe({ maxSeconds: 2 })).rejects.toMatchObject({ code: 'VIDEO_DURATION_TOO_LONG' });
    await expect(probe({ maxSide: 300 })).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    await expect(probe({ maxFps: 9 })).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    expect(await probe({ maxSeconds: 3, maxSide: 320, maxFps: 10 })).toMatchObject({ frames: 30 });
  });

  it('is refused when it is damaged', async () => {
    const bytes = await readFile(await made('whole.mp4', '-f', 'lavfi', '-i', 'testsrc=duration=1', '-c:v', 'libx264'));
    for (const broken of [bytes.subarray(0, bytes.length / 2), Buffer.alloc(0), Buffer.from('GIF89a')]) {
      await expect(probeVideo(tools, broken, limits)).rejects.toMatchObject({ code: 'INVALID_VIDEO_FORMAT' });
    }
  });

  it('is made while its frames are, one waiting at most', async () => {
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

  it('ends with its signal, its bounds and the error of its frames', async () => {
    const size = { width: 64, height: 48 };
    const write = (frames: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, wish: object = {}) =>
      writeVideo(tools, join(folder, 'ended.mp4'), frames, { ...size, fps, ...wish });
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
});
