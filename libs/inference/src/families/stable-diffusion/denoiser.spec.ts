import { expect, it } from 'vitest';
import { HostLatents } from '../../diffusion/host-latents.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';
import { Denoiser, type DenoiserConditions } from './denoiser.js';

/** A network whose prediction is the sample plus the first value of the row's prompt. */
function addingSession(rows: number[]): GraphSession {
  const tensor = (type: string, data: unknown, dims: readonly number[]): GraphTensor => ({ type, data, dims });
  const input = (name: string) => ({ name, type: 'float32', shape: [] });
  return {
    inputs: ['sample', 'timestep', 'encoder_hidden_states'].map(input),
    outputs: [input('out')],
    provider: 'cpu',
    providerNote: null,
    tensor,
    run: async ({ sample, encoder_hidden_states: prompts }) => {
      const count = sample?.dims[0] ?? 0;
      rows.push(count);
      const [from, words] = [sample?.data as Float32Array, prompts?.data as Float32Array];
      const length = from.length / count;
      const out = from.map((value, index) => value + (words[Math.floor(index / length)] ?? NaN));
      return { out: tensor('float32', out, sample?.dims ?? []) };
    },
    release: () => Promise.resolve(),
  };
}

const prompt = (value: number) => ({ states: Float32Array.of(value), tokens: 1, width: 1, pooled: null });
const run = (fixedBytes: number) => ({ fixedBytes, bytesPerPixel: 1, bytesPerPixelPair: 0 });
const conditions: Omit<DenoiserConditions, 'run'> = {
  prompt: prompt(10),
  negative: prompt(1),
  guidance: 3,
  images: 3,
  frames: null,
  imageHeight: 8,
  imageWidth: 16,
  guidanceDimensions: null,
};
const latents = Float32Array.of(1, 2, 3, 4, 5, 6);

it.each([
  ['together while they are small', 1_000, [6]],
  ['in batches of what fits', 130 * 2 ** 20, [3, 3]],
  ['one by one where only one fits', 2 ** 30, [1, 1, 1, 1, 1, 1]],
])('runs the rows of a batch %s, with the same result', async (_, fixedBytes, expectedRows) => {
  const rows: number[] = [];
  const session = addingSession(rows);
  const operations = new HostLatents(session);
  const denoiser = new Denoiser(session, operations, { ...conditions, run: run(fixedBytes) });
  // Without the prompt: latent + 1; with it: latent + 10; three times the way from the first to the second.
  const placed = operations.place(latents, [3, 1, 1, 2]);
  const outputs = await denoiser.run(placed, { timestep: 5, scale: 1 });
  const terms = { latents: placed, outputs, guidance: denoiser.guidance, lastClean: null, noise: null };
  const factors = { latents: 0, output: 1, lastClean: 0, noise: 0, clean: null };
  const { latents: predicted } = await operations.step(terms, factors);
  expect([...operations.read(predicted)]).toEqual([...latents].map((value) => value + 1 + 3 * 9));
  expect(rows).toEqual(expectedRows);
});
