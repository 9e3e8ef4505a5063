import type { MediaSource } from '#media';

/** RGB, rows from the top; a promise while the model still works on them. */
export interface ClipFrame {
  pixels: Uint8Array | Promise<Uint8Array>;
}

/** A video on its way to the encoder; the next frame is begun when it is asked for. */
export interface VideoClip {
  width: number;
  height: number;
  /** Frames per second, exact. */
  fps: { numerator: number; denominator: number };
  /** Width over height of a pixel. Default: they are square. */
  pixelAspect?: { numerator: number; denominator: number } | null;
  /** Asking for one waits for no frame before it: only what is needed to begin it. */
  frames: AsyncIterable<ClipFrame>;
  /** How many there will be, about. */
  expectedFrames: number;
  /** How much of the work is done when the first frame is asked for, in percent. Default 0. */
  donePercent?: number;
  /** What has the sound. */
  audio?: MediaSource;
}
