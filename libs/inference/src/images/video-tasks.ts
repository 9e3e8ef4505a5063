/*
 * Input and output types of the text-to-video tasks. The latents of all frames are computed first, because they are
 * small. Each frame is decoded to pixels on demand, which bounds the pixels in memory.
 */

/** Task `animate`. */
export interface AnimateInput {
  prompt: string;
  negativePrompt: string;
  /** Both sides must be multiples of the strides of autoencoder and network. */
  width: number;
  height: number;
  frames: number;
  seed: number;
}

/** Latents of one frame: the input of task `develop`, which returns an `ImageOutput`. */
export interface FrameLatents {
  channels: number;
  height: number;
  width: number;
  data: Float32Array;
}

export interface AnimateOutput {
  /** In frame order. */
  frames: FrameLatents[];
}
