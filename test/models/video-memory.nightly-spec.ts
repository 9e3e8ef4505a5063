import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installedWeights, weightsHome } from './starter-weights.js';
import { asDataUrl, makeVideo, probe, quiet, run } from './video-job.js';

describe('an upscaled 720p video', () => {
  let scratch: string;
  let platform: Platform;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'sluice-videos-'));
    const { manifest } = await installedWeights('esrgan-video');
    platform = await startPlatform({ engine: 'text', home: weightsHome, manifests: [manifest] });
  });

  afterAll(async () => {
    try {
      if (platform) await expectInvariant(platform);
    } finally {
      await platform?.stop();
      await rm(scratch, { recursive: true, force: true });
    }
  });

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
      const made = await makeVideo(platform, join(scratch, `hd-made-${frames}.mp4`), options);
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
