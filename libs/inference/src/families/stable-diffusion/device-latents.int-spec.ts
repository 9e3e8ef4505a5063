import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isFull } from '#test/extent';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { TaskEngineRun } from '#test/task-engine-run';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import type { GenerateInput, GenerateOutput } from '../../images/image-tasks.js';
import type { AnimateInput, AnimateOutput } from '../../images/video-tasks.js';
import { watchMovedBytes } from '../../runtime/moved-bytes.conformance.js';
import { providersUnderTest } from '../../runtime/providers.conformance.js';
import videoFixture from '../text-to-video-sd/__fixtures__/tiny-text-to-video.json' with { type: 'json' };
import { loadTextToVideoFamily } from '../text-to-video-sd/text-to-video-sd.family.js';
import fixture from './__fixtures__/tiny-diffusion.json' with { type: 'json' };
import { loadStableDiffusionFamily } from './stable-diffusion.family.js';

/* The latents of diffusion on a device: the images of the processor, and only small tensors cross the bus for a step. */

const directory = fileURLToPath(new URL('./__fixtures__/tiny', import.meta.url));
const videoDirectory = fileURLToPath(new URL('../text-to-video-sd/__fixtures__/tiny', import.meta.url));

const options = (provider: string, scheduler?: string): HostLoadOptions => ({
  modelId: 'tiny-diffusion',
  directory,
  graphFile: 'unet/model.onnx',
  family: 'stable-diffusion',
  familyOptions: scheduler === undefined ? {} : { scheduler },
  providers: [provider],
  intraOpThreads: 1,
  slots: 1,
  contextLength: 1,
  cacheTokens: 1,
});

const [first] = fixture.cases as [(typeof fixture.cases)[number]];
const { width, height } = first;
const pixels = {
  width,
  height,
  data: Uint8Array.from({ length: width * height * 3 }, (_, index) => (index * 7) % 256),
};
const input: GenerateInput = {
  prompt: fixture.prompt,
  negativePrompt: fixture.negative,
  seeds: [first.seed, 5],
  guidance: 4,
  width,
  height,
  steps: 4,
  image: null,
  strength: 1,
  mask: null,
};
const fromImage = { ...input, image: pixels, strength: 0.6 };
const leftHalf = Uint8Array.from({ length: width * height }, (_, index) => (index % width < width / 2 ? 1 : 0));
/** Bytes of the latents of the two images. */
const latentBytes = 2 * 4 * (width / 2) * (height / 2) * 4;

beforeAll(() => void vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES));
afterAll(() => void vi.unstubAllEnvs());

let movedBytes: ReturnType<typeof watchMovedBytes>;
beforeEach(() => void (movedBytes = watchMovedBytes()));
afterEach(() => void vi.restoreAllMocks());

const moved = (): number => movedBytes('bytesIn') + movedBytes('bytesOut');

/** Loads a family whose steps are counted: `stepBytes` returns what each step since the last call moved, but the first. */
async function loadCounting(family: EngineLoader, load: HostLoadOptions) {
  const run = new TaskEngineRun();
  let marks: number[] = [];
  await run.load(
    (loadOptions, sink) =>
      family(loadOptions, (batch) => {
        if (batch.some(([, { type }]) => type === 'task-progress')) marks.push(moved());
        sink(batch);
      }),
    load,
  );
  const stepBytes = (): number[] => {
    const steps = marks.slice(1).map((bytes, index) => bytes - (marks[index] ?? 0));
    marks = [];
    return steps;
  };
  return { run, stepBytes };
}

async function generator(provider: string, scheduler: string) {
  const { run, stepBytes } = await loadCounting(loadStableDiffusionFamily, options(provider, scheduler));
  let count = 0;
  const generate = async (task: GenerateInput): Promise<Uint8Array[]> => {
    const { images } = (await run.run({ id: String(count++), task: 'generate', input: task })) as GenerateOutput;
    return images.map(({ data }) => data);
  };
  return { run, generate, stepBytes };
}

function expectAlike(found: readonly Uint8Array[], wanted: readonly Uint8Array[]): void {
  expect(found.map(({ length }) => length)).toEqual(wanted.map(({ length }) => length));
  for (const [image, data] of wanted.entries()) {
    const differences = data.map((sample, index) => Math.abs(sample - (found[image]?.[index] ?? 255)));
    expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  }
}

/** With the bytes of noise that a step uploads: one with it, one with the outputs of earlier steps, one with neither. */
const schedulers: [name: string, noiseBytes: number][] = [
  ['LCMScheduler', latentBytes],
  ['DPMSolverMultistepScheduler', 0],
  ['EulerDiscreteScheduler', 0],
];

const devices = providersUnderTest().filter((provider) => provider !== 'cpu');

describe.each(devices)('diffusion on %s', softwareGpuTimeouts, (provider) => {
  it.each(isFull ? schedulers : schedulers.slice(0, 1))(
    'computes the images of the processor with %s, and moves few bytes for a step',
    async (scheduler, noiseBytes) => {
      const host = await generator('cpu', scheduler);
      const device = await generator(provider, scheduler);
      expectAlike(await device.generate(input), await host.generate(input));
      const steps = device.stepBytes();
      expect(steps).toHaveLength(input.steps - 1);
      // The last step adds no noise.
      for (const bytes of steps.slice(0, -1)) {
        expect(bytes).toBeGreaterThanOrEqual(noiseBytes + 20);
        expect(bytes).toBeLessThan(noiseBytes + 100);
      }
      expect(steps.at(-1)).toBeLessThan(100);
      const masked = { ...fromImage, mask: leftHalf };
      expectAlike(await device.generate(masked), await host.generate(masked));
      await device.run.engine.close();
      await host.run.engine.close();
    },
  );

  it('leaves the latents of a video there between its steps', async () => {
    const [wanted] = videoFixture.cases as [(typeof videoFixture.cases)[number]];
    const task: AnimateInput = { ...wanted, prompt: videoFixture.prompt, negativePrompt: videoFixture.negative };
    const framesOn = async (used: string) => {
      const familyOptions = { steps: 4, guidance: wanted.guidance };
      const load = { ...options(used), family: 'text-to-video-sd', directory: videoDirectory, familyOptions };
      const { run, stepBytes } = await loadCounting(loadTextToVideoFamily, load);
      const { frames } = (await run.run({ id: 'video', task: 'animate', input: task })) as AnimateOutput;
      await run.engine.close();
      return { values: frames.flatMap(({ data }) => [...data]), steps: stepBytes() };
    };
    const [host, device] = [await framesOn('cpu'), await framesOn(provider)];
    expect(device.values).toHaveLength(host.values.length);
    device.values.forEach((value, index) => expect(value).toBeCloseTo(host.values[index] ?? Number.NaN, 2));
    expect(device.steps).toHaveLength(3);
    for (const bytes of device.steps) expect(bytes).toBeLessThan(100);
  });
});
