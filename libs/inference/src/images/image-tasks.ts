import type { RgbPixels } from './pixel-grid.js';

/*
 * What the families of pictures are asked and what they answer: the `input` and `output` of their tasks.
 */

/** Task `upscale`. */
export interface UpscaleInput {
  image: RgbPixels;
  scale: 2 | 4;
}

export interface ImageOutput {
  image: RgbPixels;
}

/** Task `matte`: what stands in front. */
export interface MatteInput {
  image: RgbPixels;
}

export interface MatteOutput {
  width: number;
  height: number;
  /** One byte per pixel: 0 is background, 255 is foreground. */
  alpha: Uint8Array;
}

/** Task `inpaint`: fills what the mask names from what surrounds it. */
export interface InpaintInput {
  image: RgbPixels;
  /** One byte per pixel: 0 is kept, anything else is filled. */
  mask: Uint8Array;
}

/** Task `classify`. */
export interface ClassifyInput {
  image: RgbPixels;
}

export interface ClassifyOutput {
  /** Probability of each class; they sum to 1. */
  scores: Record<string, number>;
}

/** Task `interpolate`: the frame at a moment between two others of the same size. */
export interface InterpolateInput {
  first: RgbPixels;
  last: RgbPixels;
  /** 0 is the first frame, 1 the last. */
  moment: number;
}

/** Task `generate`: a picture from words, and from a picture where one is given. */
export interface GenerateInput {
  prompt: string;
  negativePrompt: string;
  /** Both multiples of what the model's autoencoder shrinks a side by. */
  width: number;
  height: number;
  steps: number;
  /** How strictly the prompt is followed; 1 and less: without comparison to the negative prompt. */
  guidance: number;
  seed: number;
  /** Of the wanted size. Null: from nothing. */
  image: RgbPixels | null;
  /** How much of the given picture is made anew, above 0 to 1. */
  strength: number;
}
