import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isProcessAlive } from '#common';
import { mediaEngines } from '#test/media-engines';
import { runSourceArguments, sourcePath } from '#test/source-program';
import {
  decodeAudio,
  decodeWholeAudio,
  encodeAudio,
  MediaTools,
  probeAudio,
  probeVideo,
  readFrames,
} from '../index.js';

const run = promisify(execFile);
const sampleRate = 16_000;

function levelOf(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

describe.each(mediaEngines)('%s', (_name, engine) => {
  let folder: string;
  let temporaryFolder: string;
  let tools: MediaTools;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-tools-'));
    temporaryFolder = join(folder, 'temporary');
    tools = await MediaTools.find({ temporaryFolder, ...engine });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Creates an audio or video file with ffmpeg. */
  async function made(name: string, ...args: string[]): Promise<string> {
    const path = join(folder, name);
    await run('ffmpeg', ['-loglevel', 'error', '-y', ...args, path]);
    return path;
  }

  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=44100:duration=2'];
  const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=2'];
  const decode = (path: string) => decodeWholeAudio(tools, { path }, { sampleRate, maxSeconds: 60 });

  it.each(['wav', 'flac', 'mp3', 'm4a', 'ogg'])('hears channels of opposite phases in %s', async (ending) => {
    const opposite = ['-af', 'pan=stereo|c0=c0|c1=-0.98*c0'];
    const [alone, both] = [await made(`one.${ending}`, ...tone), await made(`two.${ending}`, ...tone, ...opposite)];
    const [expected, found] = [await decode(alone), await decode(both)];
    expect(levelOf(found)).toBeGreaterThan(0.9 * levelOf(expected));
  });

  it.each([
    ['tone.wav', []],
    ['tone-alaw.wav', ['-c:a', 'pcm_alaw']],
    ['tone.flac', []],
    ['tone.m4a', ['-c:a', 'aac']],
    ['tone.aac', ['-c:a', 'aac']],
    ['tone.mp4', ['-c:a', 'aac', '-movflags', '+faststart']],
    ['tone.mp3', ['-c:a', 'libmp3lame', '-metadata', 'title=A tone']],
    ['tone.ogg', ['-c:a', 'libvorbis']],
    ['tone.oga', ['-c:a', 'libopus']],
    ['tone.webm', ['-c:a', 'libopus']],
    ['tone.aiff', []],
  ])('reads %s, whatever its name', async (name, args) => {
    const path = await made(name, ...tone, ...args);
    const { durationSeconds } = await probeAudio(tools, { path }, { maxSeconds: 60 });
    expect(Math.abs((durationSeconds ?? 2) - 2)).toBeLessThan(0.15);
    const samples = await decode(path);
    expect(Math.abs(samples.length / sampleRate - 2)).toBeLessThan(0.15);
    expect(Math.max(...samples)).toBeGreaterThan(0.1);
    expect(await decodeWholeAudio(tools, await readFile(path), { sampleRate, maxSeconds: 60 })).toEqual(samples);
  });

  it('reads a WAV file with a large tag before its samples', async () => {
    const plain = await readFile(await made('tagged.wav', ...tone));
    const chunk = Buffer.concat([Buffer.from('JUNK'), Buffer.alloc(100_004)]);
    chunk.writeUInt32LE(100_000, 4);
    const tagged = Buffer.concat([plain.subarray(0, 12), chunk, plain.subarray(12)]);
    const { durationSeconds } = await probeAudio(tools, tagged, { maxSeconds: 60 });
    expect(durationSeconds).toBeCloseTo(2, 1);
    expect(await decodeWholeAudio(tools, tagged, { sampleRate, maxSeconds: 60 })).toHaveLength(2 * sampleRate);
  });

  it('extracts the audio of a video, and rejects video as audio', async () => {
    const both = await made('both.mp4', ...video, ...tone, '-c:v', 'libx264', '-c:a', 'aac');
    expect((await decode(both)).length).toBeGreaterThan(30_000);
    const silent = await made('silent.mp4', ...video, '-c:v', 'libx264');
    await expect(decode(silent)).rejects.toMatchObject({ code: 'INVALID_AUDIO_FORMAT' });
    const song = await made('song.mp3', ...tone);
    await expect(probeVideo(tools, { path: song }, { maxSeconds: 60 })).rejects.toMatchObject({
      code: 'INVALID_VIDEO_FORMAT',
    });
  });

  it('opens no playlist of other files or hosts, whatever its name', async () => {
    const secret = join(folder, 'secret.wav');
    await made('secret.wav', ...tone);
    const lists = [
      `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
      `#EXTM3U\n#EXTINF:2,\nhttp://127.0.0.1:9/a.mp3\n`,
      `ffconcat version 1.0\nfile '${secret}'\n`,
      `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>`,
      `[playlist]\nFile1=${secret}\n`,
    ];
    for (const [index, list] of lists.entries()) {
      const path = join(folder, `list-${index}.mp3`);
      await writeFile(path, list);
      await expect(decode(path)).rejects.toMatchObject({
        code: 'INVALID_AUDIO_FORMAT',
        message: 'The recording is of an unknown format.',
      });
    }
  });

  it('fixes the demuxer, so content after the first bytes cannot change it', async () => {
    const list = `#EXTM3U\n#EXTINF:2,\nfile://${join(folder, 'secret.wav')}\n`;
    for (const magic of [
      'fLaC',
      'OggS\0\0',
      '\0\0\0\x18ftypmp42',
      '\x1aE\xdf\xa3',
      'ID3\x04\0\0\0\0\0\0\xff\xfb',
      '\xff\xf1',
    ]) {
      const bytes = Buffer.concat([Buffer.from(magic, 'latin1'), Buffer.from(list)]);
      await expect(decodeWholeAudio(tools, bytes, { sampleRate, maxSeconds: 60 })).rejects.toMatchObject({
        code: 'INVALID_AUDIO_FORMAT',
      });
    }
  });

  it('rejects damaged input with a message without a path', async () => {
    const whole = await readFile(await made('whole.m4a', ...tone, '-c:a', 'aac'));
    const broken = whole.subarray(0, Math.floor(whole.length / 2));
    const error: unknown = await decodeWholeAudio(tools, broken, { sampleRate, maxSeconds: 60 }).catch(
      (reason) => reason,
    );
    expect(error).toMatchObject({ code: 'INVALID_AUDIO_FORMAT' });
    expect((error as Error).message).not.toContain('/');
  });

  it('stops at the maximum duration, whether or not the header states it', async () => {
    const path = await made('long.aac', ...tone, '-c:a', 'aac');
    await expect(decodeWholeAudio(tools, { path }, { sampleRate, maxSeconds: 1 })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  });

  it('ends on abort, timeout and early return, and leaves no file behind', async () => {
    const bytes = await readFile(await made('hour.flac', '-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '3600'));
    const options = { sampleRate: 48_000, maxSeconds: 7_200 };
    const stop = new AbortController();
    const stopped = (async () => {
      for await (const part of decodeAudio(tools, bytes, { ...options, signal: stop.signal })) {
        if (part.length > 0) stop.abort(new Error('nobody listens'));
      }
    })();
    await expect(stopped).rejects.toThrow('nobody listens');
    await expect(decodeWholeAudio(tools, bytes, { ...options, timeoutMs: 1 })).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
    });
    for await (const part of decodeAudio(tools, bytes, options)) {
      expect(part.length).toBeGreaterThan(0);
      break;
    }
    expect(await readdir(temporaryFolder)).toEqual([]);
  });

  it('rejects with the error of the sample source', async () => {
    async function* failing() {
      yield new Float32Array(48_000);
      throw new Error('the singer left');
    }
    const singing = (async () => {
      for await (const part of encodeAudio(tools, failing(), { format: 'opus', sampleRate })) void part;
    })();
    await expect(singing).rejects.toThrow('the singer left');
  });

  it('does not outlive a killed process, whose files are removed at the next start', async () => {
    const directory = join(folder, 'killed');
    const child = fork(sourcePath('test/harness/media-loop.ts'), [directory], { execArgv: runSourceArguments });
    await once(child, 'message');
    const pid = child.pid ?? 0;
    const [encoder = 0] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
    expect(isProcessAlive(encoder)).toBe(true);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await expect.poll(() => isProcessAlive(encoder), { timeout: 20_000 }).toBe(false);
    expect(await readdir(directory)).toHaveLength(1);
    // From a process with our id: a restarted container reuses process ids.
    await mkdir(join(directory, `${process.pid}-before`));
    const again = await MediaTools.find({ temporaryFolder: directory });
    expect(await readdir(directory)).toEqual([]);
    const inUse = await again.makeFolder();
    await MediaTools.find({ temporaryFolder: directory });
    expect(existsSync(inUse)).toBe(true);
  });

  it('is not reported as a damaged file when it is killed or cannot start', async () => {
    const directory = join(folder, 'killed-tools');
    await mkdir(directory);
    const ffmpeg = join(directory, 'ffmpeg');
    const script = '#!/bin/sh\n[ "$1" = -version ] || kill -9 $$\n';
    for (const name of ['ffmpeg', 'ffprobe']) await writeFile(join(directory, name), script, { mode: 0o755 });
    const song = await readFile(await made('killed.flac', ...tone));
    const options = { sampleRate, maxSeconds: 60 };
    const read = (found: MediaTools) => decodeWholeAudio(found, song, options);
    const write = async (found: MediaTools) => {
      const audio = [new Float32Array(48_000)];
      for await (const part of encodeAudio(found, audio, { format: 'mp3', sampleRate })) void part;
    };
    for (const lostToolCode of ['SERVICE_UNAVAILABLE', 'DEVICE_LOST'] as const) {
      const found = await MediaTools.find({ ffmpeg, temporaryFolder, lostToolCode });
      const code = { code: lostToolCode };
      await expect(read(found)).rejects.toMatchObject(code);
      await expect(write(found)).rejects.toMatchObject(code);
    }
    const found = await MediaTools.find({ ffmpeg, temporaryFolder });
    await rm(directory, { recursive: true });
    await expect(read(found)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(write(found)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await readdir(temporaryFolder)).toEqual([]);
  });

  it('passes nothing of our environment to the tool', async () => {
    const path = join(folder, 'print-environment');
    await writeFile(path, '#!/bin/sh\nenv > "$(dirname "$0")/environment"\n', { mode: 0o755 });
    await run('cp', [path, join(folder, 'ffprobe-environment')]);
    await run('cp', [path, join(folder, 'ffmpeg-environment')]);
    process.env['SLUICE_TEST_SECRET'] = 'not for tools';
    const found = await MediaTools.find({ ffmpeg: join(folder, 'ffmpeg-environment'), temporaryFolder });
    delete process.env['SLUICE_TEST_SECRET'];
    expect(found.missing).toBeNull();
    expect(existsSync(join(folder, 'environment'))).toBe(true);
    expect(await readFile(join(folder, 'environment'), 'utf8')).not.toContain('not for tools');
  });

  it('reads frames of a video by its content, not its name', async () => {
    const path = await made('video.webm', ...video, '-c:v', 'libvpx');
    const frames = [];
    for await (const frame of readFrames(tools, await readFile(path), { limits: { maxSeconds: 10 } })) {
      frames.push(frame.index);
    }
    expect(frames).toHaveLength(20);
  });
});
