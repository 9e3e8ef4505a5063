import { expect, it } from 'vitest';
import type { TaskRequest, TaskRunner } from '#inference/host';
import type { MatteInput, MatteOutput } from '#inference/tasks';
import type { Pixels } from '#media';
import { plainImage } from '../contract/index.js';
import { makeImages } from './image-operations.js';

it('mattes a camera photo at a reduced size, and cuts it out at full size', async () => {
  const [width, height] = [4_200, 4_100];
  const camera: Pixels = { width, height, channels: 4, data: new Uint8Array(width * height * 4).fill(255) };
  let seen = 0;
  // The left half is the foreground.
  const runner: TaskRunner = {
    runTask: async ({ input }: TaskRequest) => {
      const { image } = input as MatteInput;
      const { width: across, height: down } = image;
      seen = across * down;
      const alpha = new Uint8Array(seen);
      for (let row = 0; row < down; row++) alpha.fill(255, row * across, row * across + Math.floor(across / 2));
      const output: MatteOutput = { width: across, height: down, alpha };
      return { cancelled: false, output };
    },
  };
  const job = { payload: plainImage('remove-background', ['a'], 1), inputs: [camera], seeds: [1], family: 'u2net' };
  const options = { signal: new AbortController().signal };
  const made = await makeImages(job, { runner, upscaler: null, id: 'r', options });
  const cutOut = made?.[0] ?? expect.fail('cancelled');
  expect([cutOut.width, cutOut.height, cutOut.channels]).toEqual([width, height, 4]);
  expect(seen).toBeLessThanOrEqual(4_194_304);
  expect(seen).toBeGreaterThan(4_000_000);
  const alphaAt = (column: number, row: number) => cutOut.data[(row * width + column) * 4 + 3];
  for (const row of [0, 2_000, height - 1]) expect([alphaAt(100, row), alphaAt(width - 100, row)]).toEqual([255, 0]);
  // The input image is unchanged.
  expect(camera.data[(width - 1) * 4 + 3]).toBe(255);
});
