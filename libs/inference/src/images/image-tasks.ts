import type { RgbPixels } from './pixel-grid.js';

/* Input and output types of the image tasks. */

/** Task `upscale`. */
export interface UpscaleInput {
  image: RgbPixels;
  scale: 2 | 4;
}

export interface ImageOutput {
  image: RgbPixels;
}

/** Task `matte`: separates foreground from background. */
export interface MatteInput {
  image: RgbPixels;
}

export interface MatteOutput {
  width: number;
  height: number;
  /** One byte per pixel: 0 is background, 255 is foreground. */
  alpha: Uint8Array;
}

/** Task `inpaint`: fills the masked area from its surroundings. */
export interface InpaintInput {
  image: RgbPixels;
  /** One byte per pixel: 0 is left unchanged, anything else is filled. */
  mask: Uint8Array;
}

/** Task `classify`. */
export interface ClassifyInput {
  image: RgbPixels;
}

export interface ClassifyOutput {
  /** Probability of each class; the sum is 1. */
  scores: Record<string, number>;
}

/** Task `interpolate`: the frame between two others of the same size. */
export interface InterpolateInput {
  first: RgbPixels;
  last: RgbPixels;
  /** Position between the frames: 0 is the first, 1 the last. */
  moment: number;
}

/** Task `generate`: images from a prompt, optionally starting from an image. */
export interface GenerateInput {
  prompt: string;
  negativePrompt: string;
  /** Both sides must be multiples of the autoencoder's stride. */
  width: number;
  height: number;
  steps: number;
  /** Guidance scale; 1 and less disable the comparison with the negative prompt. */
  guidance: number;
  /**
   * One image is generated per seed, in one run of the network each step: memory grows with their number. An image
   * depends on its own seed only.
   */
  seeds: readonly number[];
  /** Image of the requested size to start from; null for none. */
  image: RgbPixels | null;
  /** Share of the given image to regenerate, above 0 and up to 1. */
  strength: number;
  /** One byte per pixel of the given image: 0 is kept, anything else is regenerated. Null regenerates everything. */
  mask: Uint8Array | null;
}

export interface GenerateOutput {
  /** In the order of the seeds. */
  images: RgbPixels[];
}
