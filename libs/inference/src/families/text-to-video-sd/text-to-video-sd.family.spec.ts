import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { TaskEngineRun } from '#test/task-engine-run';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import type { AnimateInput, AnimateOutput } from '../../images/video-tasks.js';
import type { ImageOutput } from '../../images/image-tasks.js';
import fixture from './__fixtures__/tiny-text-to-video.json' with { type: 'json' };
import { loadTextToVideoFamily } from './text-to-video-sd.family.js';

const directory = fileURLToPath(new URL('./__fixtures__/tiny', import.meta.url));

const options: HostLoadOptions = {
  modelId: 'tiny-text-to-video',
  directory,
  graphFile: 'unet/model.onnx',
  family: 'text-to-video-sd',
  familyOptions: {},
  providers: ['cpu'],
  intraOpThreads: 1,
  slots: 1,
  contextLength: 1,
  cacheTokens: 1,
};

type Case = (typeof fixture.cases)[number];
const [first] = fixture.cases as [Case];

class VideoRun extends TaskEngineRun {
  /** Renders frame by frame, as a worker does. */
  async video(id: string, input: AnimateInput): Promise<ImageOutput['image'][]> {
    const { frames } = (await this.run({ id, task: 'animate', input })) as AnimateOutput;
    const images: ImageOutput['image'][] = [];
    for (const [index, frame] of frames.entries()) {
      const output = await this.run({ id: `${id}.${index}`, task: 'develop', input: frame });
      images.push((output as ImageOutput).image);
    }
    return images;
  }
}

const runners: VideoRun[] = [];

async function runnerOf({ steps, guidance, scheduler }: Case, more: { steps?: number } = {}): Promise<VideoRun> {
  const chosen: { scheduler?: string } = scheduler === null ? {} : { scheduler };
  const runner = new VideoRun();
  await runner.load(loadTextToVideoFamily, { ...options, familyOptions: { steps, guidance, ...chosen, ...more } });
  runners.push(runner);
  return runner;
}

const optionsOf = ({ width, height, frames, seed }: Case): AnimateInput => ({
  prompt: fixture.prompt,
  negativePrompt: fixture.negative,
  width,
  height,
  frames,
  seed,
});

afterEach(async () => {
  for (const { engine } of runners.splice(0)) await engine.close();
});

describe('a tiny text-to-video pipeline', () => {
  it.each(
    fixture.cases.map(
      (wanted) =>
        [
          `${wanted.frames} frames of ${wanted.width} by ${wanted.height}, guidance ${wanted.guidance}, ${wanted.scheduler ?? 'its own scheduler'}`,
          wanted,
        ] as const,
    ),
  )('generates the frames of the reference: %s', async (_, wanted) => {
    const runner = await runnerOf(wanted);
    const images = await runner.video('video', optionsOf(wanted));
    expect(images).toHaveLength(wanted.frames);
    for (const [index, samples] of wanted.samples.entries()) {
      const image = images[index];
      expect([image?.width, image?.height]).toEqual([wanted.width, wanted.height]);
      const differences = samples.map((sample, position) => Math.abs(sample - (image?.data[position] ?? NaN)));
      expect(Math.max(...differences)).toBeLessThanOrEqual(2);
    }
  });

  it('generates another video for another seed, prompt or negative prompt, with frames that differ', async () => {
    const runner = await runnerOf(first);
    const options = optionsOf(first);
    const base = await runner.video('base', options);
    expect(await runner.video('again', options)).toEqual(base);
    expect(base[1]).not.toEqual(base[0]);
    for (const change of [{ seed: options.seed + 1 }, { prompt: 'a nest' }, { negativePrompt: '' }]) {
      expect(await runner.video(JSON.stringify(change), { ...options, ...change })).not.toEqual(base);
    }
  });

  it('reports progress after every step, and stops between two steps', async () => {
    const runner = await runnerOf(first, { steps: 500 });
    runner.engine.submit({ id: 'long', task: 'animate', input: optionsOf(first) });
    while (runner.told('long').length < 2) await runner.heard();
    runner.engine.cancel('long');
    expect(await runner.ended('long')).toMatchObject({ type: 'task-finished', cancelled: true });
    expect(runner.fractions('long').slice(0, 2)).toEqual([1 / 501, 2 / 501]);
    expect(runner.engine.stats().stepsTotal).toBeLessThan(10);
  });

  it('rejects a size that the latents cannot have', async () => {
    const runner = await runnerOf(first);
    runner.engine.submit({ id: 'odd', task: 'animate', input: { ...optionsOf(first), width: 17 } });
    expect(await runner.ended('odd')).toMatchObject({ error: { code: 'INVALID_REQUEST', param: 'width' } });
  });

  it('rejects a pipeline of another class', async () => {
    const elsewhere = fileURLToPath(new URL('../stable-diffusion/__fixtures__/tiny', import.meta.url));
    await expect(loadTextToVideoFamily({ ...options, directory: elsewhere }, () => undefined)).rejects.toMatchObject({
      code: 'INVALID_MODEL',
    });
  });
});
