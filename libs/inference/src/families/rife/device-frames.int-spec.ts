import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { TaskEngineRun } from '#test/task-engine-run';
import { installTinyInterpolator } from '#test/tiny-video';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import type { ImageOutput } from '../../images/image-tasks.js';
import type { RgbPixels } from '../../images/pixel-grid.js';
import { watchMovedBytes } from '../../runtime/moved-bytes.conformance.js';
import { providersUnderTest } from '../../runtime/providers.conformance.js';
import { loadRifeFamily } from './rife.family.js';

/* Frames on a device: each is uploaded once for all moments around it, and each result is read once. */

const [width, height] = [40, 32];
/** The width is padded to a multiple of 32. */
const paddedPixels = 64 * 32;
const frameBytes = 3 * 4 * paddedPixels;

let home: string;
let movedBytes: ReturnType<typeof watchMovedBytes>;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  home = await mkdtemp(join(tmpdir(), 'sluice-frames-'));
  await installTinyInterpolator(home);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true });
});
beforeEach(() => void (movedBytes = watchMovedBytes()));
afterEach(() => void vi.restoreAllMocks());

/** Other bytes at each call, as frames that come from another process. */
const frame = (shift: number): RgbPixels => ({
  width,
  height,
  data: Uint8Array.from({ length: width * height * 3 }, (_, index) => (index * 7 + shift * 31) % 256),
});

const between = (from: number, moments: readonly number[]) =>
  moments.map((moment) => ({ first: frame(from), last: frame(from + 1), moment }));

async function interpolator(provider: string) {
  const options: HostLoadOptions = {
    modelId: 'tiny-rife',
    directory: join(home, 'models', 'tiny-rife'),
    graphFile: 'model.onnx',
    family: 'rife',
    familyOptions: {},
    providers: [provider],
    intraOpThreads: 1,
    slots: 1,
    contextLength: 1,
    cacheTokens: 1,
  };
  const run = new TaskEngineRun();
  await run.load(loadRifeFamily, options);
  let count = 0;
  const frames = async (inputs: ReturnType<typeof between>): Promise<Uint8Array[]> => {
    const made: Uint8Array[] = [];
    for (const input of inputs) {
      const output = await run.run({ id: String(count++), task: 'interpolate', input });
      made.push((output as ImageOutput).image.data);
    }
    return made;
  };
  return { run, frames };
}

describe.each(providersUnderTest().filter((provider) => provider !== 'cpu'))(
  'frames on %s',
  softwareGpuTimeouts,
  (provider) => {
    it('are those of the processor, are uploaded once for their intervals, and are read once', async () => {
      const [host, device] = [await interpolator('cpu'), await interpolator(provider)];
      const intervals = [between(0, [0.25, 0.5, 0.75]), between(1, [0.5]), between(1, [0.2, 0.8])];
      // Two frames, then the later one of the next interval, then none.
      for (const [index, uploads] of [2, 1, 0].entries()) {
        const inputs = intervals[index] ?? [];
        const [bytesIn, bytesOut] = [movedBytes('bytesIn'), movedBytes('bytesOut')];
        const found = await device.frames(inputs);
        const small = movedBytes('bytesIn') - bytesIn - uploads * frameBytes;
        expect(small).toBeGreaterThan(0);
        expect(small).toBeLessThanOrEqual(inputs.length * 64);
        expect(movedBytes('bytesOut') - bytesOut).toBe(inputs.length * frameBytes);
        const wanted = await host.frames(inputs);
        for (const [at, data] of wanted.entries()) {
          const differences = data.map((sample, position) => Math.abs(sample - (found[at]?.[position] ?? 255)));
          expect(Math.max(...differences)).toBeLessThanOrEqual(1);
        }
      }
      await device.run.engine.close();
      await host.run.engine.close();
    });
  },
);
