import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sandbox } from '#platform/sandbox';
import { bundledOnly } from '#test/media-engines';
import { sourcePath } from '#test/source-program';
import { nativePackage } from '../bundled/native-av.js';
import { MediaTools, sampleFrames } from '../index.js';
import type { MediaToolsOptions } from '../tools/media-tools.js';

/* What sampling decodes of a long video, as counted by the decoders themselves. */

const run = promisify(execFile);
const limits = { maxSeconds: 1_800 };
const sampled = { count: 8, maxSide: 64, limits };
/** A decoder with frames in another order than shown returns the first one behind a few more. */
const maxDecodedPerFrame = 3;

type Engine = Pick<MediaToolsOptions, 'ffmpeg' | 'bundled'>;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-sample-'));
  await makeLongVideos();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The tools of the machine, whose own reports say how many frames each run decoded. */
async function countedFfmpeg(reports: string): Promise<Engine> {
  for (const name of ['ffmpeg', 'ffprobe']) {
    const path = join(reports, name);
    await writeFile(path, `#!/bin/sh\nFFREPORT="file=${reports}/${name}-$$.report:level=40" exec ${name} "$@"\n`);
    await chmod(path, 0o755);
  }
  return { ffmpeg: join(reports, 'ffmpeg'), bundled: null };
}

/** The bundled program, whose decoders count in a file for each run. */
async function countedBundled(reports: string): Promise<Engine> {
  const path = join(reports, 'count.mjs');
  await writeFile(
    path,
    `import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const av = createRequire(${JSON.stringify(pathToFileURL(sourcePath('package.json')).href)})('${nativePackage()}/node-av.node');
let decoded = 0;
av.CodecContext = class extends av.CodecContext {
  receiveFrameSync(frame) {
    const code = super.receiveFrameSync(frame);
    if (code >= 0) decoded += 1;
    return code;
  }
};
process.on('exit', () => writeFileSync(${JSON.stringify(reports)} + '/' + process.pid + '.report', decoded + ' frames decoded; '));
`,
  );
  const { bundled, ffmpeg } = bundledOnly;
  if (!bundled) throw new Error('the bundled program has no options');
  return { ffmpeg, bundled: { ...bundled, nodeArguments: [...bundled.nodeArguments, '--import', path] } };
}

/** Video frames that all runs decoded since the last call. */
async function decodedIn(reports: string): Promise<number> {
  let frames = 0;
  for (const name of await readdir(reports)) {
    if (!name.endsWith('.report')) continue;
    const text = await readFile(join(reports, name), 'utf8');
    for (const [, count] of text.matchAll(/(\d+) frames decoded; /g)) frames += Number(count);
    await rm(join(reports, name));
  }
  return frames;
}

/** Makes ten minutes of 1080p: twelve seconds with a key frame every two, from white to black, again and again. */
async function makeLongVideos(): Promise<void> {
  const short = join(folder, 'short.mp4');
  const quiet = ['-loglevel', 'error', '-y'];
  const fading = 'color=white:size=1920x1080:rate=10:duration=12,fade=out:st=0:d=12';
  const codec = ['-c:v', 'libx264', '-preset', 'superfast', '-bf', '2', '-g', '20', '-sc_threshold', '0'];
  await run('ffmpeg', [...quiet, '-f', 'lavfi', '-i', fading, ...codec, '-pix_fmt', 'yuv420p', short]);
  for (const name of ['long.mp4', 'long.mkv']) {
    await run('ffmpeg', [...quiet, '-stream_loop', '49', '-i', short, '-c', 'copy', join(folder, name)]);
  }
}

describe.each([
  ['ffmpeg of the machine', countedFfmpeg],
  ['bundled ffmpeg', countedBundled],
])('sampling by the %s', (title, countedEngine) => {
  let reports: string;
  let tools: MediaTools;

  beforeAll(async () => {
    reports = join(folder, title.replaceAll(' ', '-'));
    await mkdir(reports);
    const engine = await countedEngine(reports);
    // Within the limits of the product, the counters could not write their reports.
    tools = await MediaTools.find({ temporaryFolder: join(folder, 'temporary'), sandbox: Sandbox.none, ...engine });
  });

  it.each(['long.mp4', 'long.mkv'])('decodes a few frames of ten minutes of 1080p: %s', async (name) => {
    await decodedIn(reports);
    const frames = await sampleFrames(tools, { path: join(folder, name) }, sampled);
    const decoded = await decodedIn(reports);
    // The last key frames before 37.5, 112.5 and so on.
    expect(frames.map(({ seconds }) => Math.round(seconds))).toEqual([36, 112, 186, 262, 336, 412, 486, 562]);
    expect(decoded).toBeGreaterThanOrEqual(8);
    expect(decoded).toBeLessThanOrEqual(8 * maxDecodedPerFrame);
    for (const { seconds, width, height, data } of frames) {
      expect([width, height, data.length]).toEqual([64, 36, 64 * 36 * 3]);
      const brightness = 255 * (1 - (Math.round(seconds) % 12) / 12);
      expect(Math.abs((data[0] ?? 0) - brightness)).toBeLessThan(12);
    }
  });

  it('takes each key frame once, and no time that the video does not have', async () => {
    const path = join(folder, `single-${title.slice(0, 1)}.mp4`);
    const one = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:rate=10:duration=20', '-g', '1000'];
    await run('ffmpeg', ['-loglevel', 'error', '-y', ...one, path]);
    const frames = await sampleFrames(tools, { path }, { ...sampled, maxDecodedPixels: 1 });
    expect(frames.map(({ seconds }) => seconds)).toEqual([0]);
  });
});
