import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installedWeights, weightsHome } from './starter-weights.js';
import { asDataUrl, makeVideo, probe, quiet, run } from './video-job.js';

/* Videos with the published weights over HTTP, inspected with ffprobe and ffmpeg. */

let platform: Platform;
let scratch: string;

const make = (name: string, body: object) => makeVideo(platform, join(scratch, name), body);

/** PSNR of two videos in dB, independent of their color format. */
async function psnr(left: string, right: string): Promise<number> {
  const shown = '[0:v]format=gbrp[left];[1:v]format=gbrp[right];[left][right]psnr';
  const args = ['-hide_banner', '-i', left, '-i', right, '-lavfi', shown, '-f', 'null', '-'];
  const { stderr } = await run('ffmpeg', args);
  return Number(/average:([0-9.]+)/.exec(stderr)?.[1]);
}

/** Frame of a test video: a moving disc on a moving pattern. */
async function frameOf(video: string, index: number): Promise<string> {
  const path = join(scratch, `frame-${index}.png`);
  await run('ffmpeg', [...quiet, '-i', video, '-vf', `select=eq(n\\,${index})`, '-frames:v', '1', path]);
  return await asDataUrl(path, 'image/png');
}

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'sluice-videos-'));
  const models = [await installedWeights('rife-4.6'), await installedWeights('esrgan-video')];
  platform = await startPlatform({
    engine: 'text',
    home: weightsHome,
    manifests: models.map(({ manifest }) => manifest),
  });
});

afterAll(async () => {
  try {
    if (platform) await expectInvariant(platform);
  } finally {
    await platform?.stop();
    await rm(scratch, { recursive: true, force: true });
  }
});

describe('RIFE', () => {
  it('generates the frames between a first and a last one, closer to the original than a blend', async () => {
    // A pattern that drifts by two pixels per frame.
    const truth = join(scratch, 'truth.mp4');
    const pattern = 'mandelbrot=size=640x640:maxiter=200:end_scale=0.3:start_scale=0.3,format=yuv444p';
    const drift = `${pattern},loop=loop=-1:size=1,crop=256:256:'2*n+100':160`;
    const encoding = ['-r', '12', '-frames:v', '12', '-c:v', 'libx264', '-crf', '4', '-pix_fmt', 'yuv420p'];
    await run('ffmpeg', [...quiet, '-f', 'lavfi', '-i', drift, ...encoding, truth]);
    const made = await make('between.mp4', {
      model: 'rife-4.6',
      duration: '1s',
      fps: 12,
      resolution: '256p',
      prompt: 'The pattern drifts.',
      image_url: await frameOf(truth, 0),
      end_image_url: await frameOf(truth, 11),
    });
    expect(await probe(made)).toEqual([{ codec_name: 'h264', width: 256, height: 256, frames: 12 }]);
    const blend = join(scratch, 'blend.mp4');
    const [first, last] = [join(scratch, 'frame-0.png'), join(scratch, 'frame-11.png')];
    const stills = [first, last].flatMap((path) => ['-loop', '1', '-framerate', '12', '-t', '1', '-i', path]);
    const mix = ['-filter_complex', 'blend=all_expr=A*(1-N/11)+B*N/11'];
    await run('ffmpeg', [...quiet, ...stills, ...mix, ...encoding, blend]);
    const [interpolated, blended] = [await psnr(made, truth), await psnr(blend, truth)];
    expect(interpolated).toBeGreaterThan(blended + 1.5);
  });
});

describe('ESRGAN', () => {
  it.each([2, 4])('upscales a video by %s, keeps its audio, and preserves its content', async (factor) => {
    const [truth, small, plain] = ['truth', 'small', 'plain'].map((name) => join(scratch, `${name}-${factor}.mp4`)) as [
      string,
      string,
      string,
    ];
    const size = 64 * factor;
    const pattern = `mandelbrot=size=${size}x${size}:maxiter=200:rate=8`;
    const audio = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=1'];
    const encoding = ['-c:v', 'libx264', '-crf', '4', '-pix_fmt', 'yuv420p', '-t', '1'];
    await run('ffmpeg', [...quiet, '-f', 'lavfi', '-i', pattern, ...audio, ...encoding, '-c:a', 'aac', truth]);
    await run('ffmpeg', [...quiet, '-i', truth, '-vf', 'scale=64:64:flags=area', ...encoding, '-c:a', 'copy', small]);
    await run('ffmpeg', [...quiet, '-i', small, '-vf', `scale=${size}:${size}:flags=bicubic`, ...encoding, plain]);
    const made = await make(`upscaled-${factor}.mp4`, {
      model: 'esrgan-video',
      duration: 'auto',
      upscale_factor: factor,
      video_url: await asDataUrl(small, 'video/mp4'),
    });
    expect(await probe(made)).toEqual([
      { codec_name: 'h264', width: size, height: size, frames: 8 },
      { codec_name: 'aac' },
    ]);
    // Sharpening costs some PSNR on a noisy pattern like this one.
    expect(await psnr(made, truth)).toBeGreaterThan((await psnr(plain, truth)) - 1.5);
  });
});
