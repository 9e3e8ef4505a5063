import type { MediaSource } from '#media';

/** RGB, rows from the top; a promise while the model still works on them. */
export interface ClipFrame {
  pixels: Uint8Array | Promise<Uint8Array>;
}

/** A video on its way to the encoder; the next frame starts on demand. */
export interface VideoClip {
  width: number;
  height: number;
  /** Frames per second, exact. */
  fps: { numerator: number; denominator: number };
  /** Pixel aspect ratio (width over height). Default: square. */
  pixelAspect?: { numerator: number; denominator: number } | null;
  /** Requesting a frame does not wait for earlier frames, only for what is needed to start it. */
  frames: AsyncIterable<ClipFrame>;
  /** Approximate number of frames. */
  expectedFrames: number;
  /** Share of the work that is done before the first frame is requested, in percent. Default 0. */
  donePercent?: number;
  /** The file with the audio. */
  audio?: MediaSource;
}
