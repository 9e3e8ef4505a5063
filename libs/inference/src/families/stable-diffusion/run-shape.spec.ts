import { expect, it } from 'vitest';
import { runBytes } from '#model-memory';
import { diffusionShape, videoShape } from './run-shape.js';

it('counts scores and softmax of every head, 32 bytes per pair of latents with four heads as measured', () => {
  const { bytesPerPixelPair } = diffusionShape({ attention_head_dim: 4, block_out_channels: [32, 64] }, {}, 2);
  expect(bytesPerPixelPair * 2 ** 4).toBe(32);
});

it('takes missing members for those of Stable Diffusion 1: a gigabyte of scores for 512 pixels a side', () => {
  const shape = diffusionShape({}, {}, 8);
  const scores = runBytes({ ...shape, fixedBytes: 0, bytesPerPixel: 0 }, { pixels: 512 ** 2 });
  expect(scores).toBe(2 ** 30);
});

it('ignores the levels that do not attend', () => {
  const types = ['DownBlock2D', 'CrossAttnDownBlock2D', 'CrossAttnDownBlock2D'];
  const unet = { attention_head_dim: [5, 40, 20], block_out_channels: [320, 640, 1_280], down_block_types: types };
  const { bytesPerPixelPair } = diffusionShape(unet, {}, 8);
  expect(bytesPerPixelPair * 8 ** 4).toBe((8 * 40) / 16);
});

it('counts the frames of a video that attend to each other', () => {
  const unet = { attention_head_dim: 8, block_out_channels: [32, 64] };
  const video = (frames: number): number => runBytes(videoShape(unet, {}, 8), { pixels: 256 ** 2, frames });
  // Scores and softmax of eight heads at each of 32 × 32 latents.
  const scores = (frames: number): number => 2 * 8 * 4 * 32 ** 2 * frames ** 2;
  const single = runBytes(diffusionShape(unet, {}, 8), { pixels: 256 ** 2, frames: 240 });
  expect(video(240) - single).toBeCloseTo(scores(240), -3);
});
