/*
 * What the families that make films from words are asked. A film is made in two: all of it as latents, which are small, and
 * then each frame of them as pixels when it is wanted, so that no more pixels are there than are on their way.
 */

/** Task `animate`. */
export interface AnimateInput {
  prompt: string;
  negativePrompt: string;
  /** Both multiples of what the model's autoencoder and network shrink a side by. */
  width: number;
  height: number;
  frames: number;
  seed: number;
}

/** Latents of one frame: the input of task `develop`, which answers a `ImageOutput`. */
export interface FrameLatents {
  channels: number;
  height: number;
  width: number;
  data: Float32Array;
}

export interface AnimateOutput {
  /** In their order. */
  frames: FrameLatents[];
}
