import { describe, expect, it } from 'vitest';
import type { QueueVideoRequest } from '../contract/video.request.js';
import { madeSize, shortSideOf } from './made-size.js';
import { sizeOf } from './video-payload.js';
import type { VideoModel } from './video.model.js';
import { normalizeVideo } from './video.normalizer.js';

const model: VideoModel = {
  id: 'm',
  kind: 'interpolator',
  inputs: new Set(['image_url', 'end_image_url', 'keyframes', 'video_url', 'fps']),
  aspectRatios: [],
  resolutions: ['480p', '720p'],
  durations: ['2s', 'auto'],
  audioConfigurable: true,
  promptCharacters: 10,
  factors: [2, 4],
  frameRates: [24, 12],
  maxSourceSeconds: 300,
  sizeDivisor: 64,
  shortSide: 256,
  privateDelivery: false,
  consent: null,
};
const body = (more: Partial<QueueVideoRequest>): QueueVideoRequest => ({ model: 'm', duration: '2s', ...more });
const both = { image_url: 'a', end_image_url: 'b' };

describe('a request for a video between images', () => {
  it('has its images in the order of their frames, with keyframes at 24 per second', () => {
    const keyframes = [{ image_url: 'k', frame_index: 24 }];
    expect(normalizeVideo(body({ ...both, keyframes, fps: 12 }), model)).toMatchObject({
      operation: 'between',
      frames: 24,
      fps: 12,
      seconds: 2,
      resolution: '480p',
      images: [
        { url: 'a', place: 0 },
        { url: 'k', place: 12 },
        { url: 'b', place: 23 },
      ],
    });
  });

  it('lasts five seconds by default', () => {
    expect(normalizeVideo(body({ ...both, duration: 'auto' }), model)).toMatchObject({ seconds: 5, frames: 120 });
  });

  it.each([
    [{ image_url: 'a' }, 'end_image_url'],
    [{ ...both, keyframes: [{ image_url: 'k', frame_index: 0 }] }, 'image_url'],
    [{ ...both, keyframes: [{ image_url: 'k', frame_index: 49 }] }, 'keyframes[0].frame_index'],
    [{ ...both, prompt: 'x'.repeat(11) }, 'prompt'],
    [{ ...both, upscale_factor: 2 }, 'upscale_factor'],
    [{ ...both, audio_url: 'a' }, 'audio_url'],
    [{ ...both, video_url: 'v' }, 'image_url'],
    [{ ...both, consents: { seedance: {} } } as Partial<QueueVideoRequest>, 'consents.seedance'],
  ])('is rejected with the invalid field: %j', (more, param) => {
    expect(() => normalizeVideo(body(more), model)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param }),
    );
  });
});

describe('a request for a larger video', () => {
  const upscaler: VideoModel = { ...model, kind: 'upscaler', inputs: new Set(['video_url']) };

  it('accepts the default factor, any duration and an empty prompt', () => {
    const plan = normalizeVideo(body({ duration: '7s', video_url: 'v', prompt: '', audio: false }), upscaler);
    expect(plan).toEqual({ operation: 'upscale', audio: false, video: 'v', factor: 2 });
  });

  it.each([
    [{ video_url: 'v', prompt: 'sharper' }, 'prompt'],
    [{ video_url: 'v', resolution: '720p' }, 'resolution'],
    [{ video_url: 'v', aspect_ratio: '16:9' }, 'aspect_ratio'],
    [{ video_url: 'v', upscale_factor: 1 }, 'upscale_factor'],
    [{}, 'video_url'],
  ])('is rejected with the invalid field: %j', (more, param) => {
    expect(() => normalizeVideo(body(more), upscaler)).toThrow(expect.objectContaining({ param }));
  });
});

describe('a request for a video from text', () => {
  const generator: VideoModel = {
    ...model,
    kind: 'generator',
    inputs: new Set(['negative_prompt', 'seed', 'fps']),
    aspectRatios: ['1:1', '16:9', '9:16', 'auto'],
    resolutions: ['256p', '480p'],
    durations: ['2s', '3s', 'auto'],
    promptCharacters: 40,
    frameRates: [8, 24],
    audioConfigurable: false,
  };
  const words = { prompt: 'a boat at a pier' };

  it('uses the first values that the model lists and a random seed by default', () => {
    const plan = normalizeVideo(body({ ...words, duration: 'auto' }), generator);
    expect(plan).toMatchObject({
      operation: 'from-text',
      ...words,
      negativePrompt: '',
      width: 256,
      height: 256,
      seconds: 2,
      fps: 8,
      frames: 16,
      resolution: '256p',
    });
    expect(normalizeVideo(body({ ...words, duration: 'auto' }), generator)).not.toEqual(plan);
  });

  it('takes the default of audio, which a model without a choice has too', () => {
    const plan = normalizeVideo(body({ ...words, duration: '2s', audio: true }), generator);
    expect(plan).toMatchObject({ operation: 'from-text', audio: true });
  });

  it('limits the characters of the prompt, whatever they are', () => {
    const prompt = '😀'.repeat(40);
    expect(normalizeVideo(body({ prompt, duration: 'auto' }), generator)).toMatchObject({ prompt });
  });

  it('has the requested shape, size, length and seed', () => {
    const chosen = {
      aspect_ratio: '9:16',
      resolution: '480p',
      duration: '3s',
      fps: 24,
      seed: 0,
      negative_prompt: 'rain',
    };
    expect(normalizeVideo(body({ ...words, ...chosen }), { ...generator, sizeDivisor: 16 })).toMatchObject({
      negativePrompt: 'rain',
      width: 480,
      height: 848,
      frames: 72,
      seed: 0,
    });
  });

  it.each([
    [{ prompt: '' }, 'prompt'],
    [{ prompt: undefined }, 'prompt'],
    [{ prompt: 'x'.repeat(41) }, 'prompt'],
    [{ prompt: '😀'.repeat(41) }, 'prompt'],
    [{ ...words, duration: '1s' }, 'duration'],
    [{ ...words, aspect_ratio: '4:3' }, 'aspect_ratio'],
    [{ ...words, resolution: '720p' }, 'resolution'],
    [{ ...words, fps: 12 }, 'fps'],
    [{ ...words, image_url: 'a' }, 'image_url'],
    [{ ...words, audio: false }, 'audio'],
    [{ ...words, upscale_factor: 2 }, 'upscale_factor'],
  ])('is rejected with the invalid field: %j', (more, param) => {
    expect(() => normalizeVideo(body(more as Partial<QueueVideoRequest>), generator)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param }),
    );
  });
});

describe('the size of a video from text', () => {
  it.each([
    [16 / 9, '256p', 64, [448, 256]],
    [21 / 9, '4k', 64, [4_096, 1_728]],
    [1, '2K', 32, [1_440, 1_440]],
    [9 / 16, '480p', 2, [480, 854]],
    [1, '256p', 1_024, [1_024, 1_024]],
  ])('of shape %d in %s is a multiple of %d', (shape, resolution, divisor, size) => {
    const { width, height } = madeSize({ width: shape, height: 1 }, { short: shortSideOf(resolution) ?? 0, divisor });
    expect([width, height]).toEqual(size);
  });
});

describe('the size of a video', () => {
  it.each([
    [{ width: 3_000, height: 2_000 }, '480p', { width: 720, height: 480 }],
    [{ width: 100, height: 300 }, '256p', { width: 256, height: 768 }],
    [{ width: 10_000, height: 100 }, '480p', { width: 4_096, height: 40 }],
    [{ width: 301, height: 201 }, null, { width: 302, height: 202 }],
  ])('has the shape of the image %j in %s', (image, resolution, size) => {
    const made = sizeOf(image, resolution);
    expect(Math.abs(made.width - size.width)).toBeLessThanOrEqual(2);
    expect(Math.abs(made.height - size.height)).toBeLessThanOrEqual(2);
    expect([made.width % 2, made.height % 2]).toEqual([0, 0]);
  });
});
