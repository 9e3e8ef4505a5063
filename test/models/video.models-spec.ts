import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installedWeights, weightsHome } from './starter-weights.js';

/* Videos with the published weights over HTTP, inspected with ffprobe and ffmpeg. */

const run = promisify(execFile);
const quiet = ['-hide_banner', '-loglevel', 'error', '-y'];

let scratch: string;
let platform: Platform;

async function post(path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
  return await fetch(`${platform.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Queues a job, waits for it, and writes the video to a file. */
async function make(name: string, body: object): Promise<string> {
  const queued = await post('/video/queue', body);
  const { model, queue_id } = (await queued.json()) as { model: string; queue_id: string };
  expect(queued.status).toBe(200);
  const deadline = performance.now() + 300_000;
  for (;;) {
    const response = await post('/video/retrieve', { model, queue_id });
    if (response.headers.get('content-type') === 'video/mp4') {
      const path = join(scratch, name);
      await writeFile(path, Buffer.from(await response.arrayBuffer()));
      return path;
    }
    const answer = (await response.json()) as { status?: string };
    if (answer.status !== 'PROCESSING' || performance.now() > deadline) throw new Error(JSON.stringify(answer));
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function probe(path: string) {
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-of', 'json', path];
  const { streams } = JSON.parse((await run('ffprobe', args)).stdout) as {
    streams: { codec_type: string; codec_name: string; width?: number; height?: number; nb_read_frames: string }[];
  };
  return streams.map(({ codec_type, codec_name, width, height, nb_read_frames }) =>
    codec_type === 'video' ? { codec_name, width, height, frames: Number(nb_read_frames) } : { codec_name },
  );
}

/** PSNR of two videos in dB, independent of their colour format. */
async function psnr(left: string, right: string): Promise<number> {
  const shown = '[0:v]format=gbrp[left];[1:v]format=gbrp[right];[left][right]psnr';
  const args = ['-hide_banner', '-i', left, '-i', right, '-lavfi', shown, '-f', 'null', '-'];
  const { stderr } = await run('ffmpeg', args);
  return Number(/average:([0-9.]+)/.exec(stderr)?.[1]);
}

const asDataUrl = async (path: string, type: string) =>
  `data:${type};base64,${(await readFile(path)).toString('base64')}`;

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

describe('an upscaled 720p video', () => {
  /** Peak memory of the model host. */
  async function peakMebibytes(): Promise<number> {
    const status = await readFile(`/proc/${platform.hostPid('esrgan-video')}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  // A minute of video in 12 frames: 60 frames took five and a half minutes on two cores and 299 MiB.
  it('uses less than a gigabyte in the model host for a minute of video, regardless of the frame count', async () => {
    const upscale = async (frames: number): Promise<number> => {
      const video = join(scratch, `hd-${frames}.mp4`);
      const source = ['-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=1/5', '-frames:v', String(frames)];
      await run('ffmpeg', [...quiet, ...source, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', video]);
      const video_url = await asDataUrl(video, 'video/mp4');
      const options = { model: 'esrgan-video', duration: 'auto', upscale_factor: 2, video_url };
      const made = await make(`hd-made-${frames}.mp4`, options);
      expect(await probe(made)).toEqual([{ codec_name: 'h264', width: 2_560, height: 1_440, frames }]);
      return await peakMebibytes();
    };
    const few = await upscale(3);
    const many = await upscale(12);
    process.stdout.write(`the host of esrgan-video used ${few.toFixed(0)} MiB, then ${many.toFixed(0)} MiB\n`);
    expect(many).toBeLessThan(1_024);
    // Garbage collection varies between runs; the limit is half of what nine leaked frames would add.
    const frameMebibytes = (3 * (1_280 * 720 + 2_560 * 1_440)) / 2 ** 20;
    expect(many - few).toBeLessThan((9 * frameMebibytes) / 2);
  }, 900_000);
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
