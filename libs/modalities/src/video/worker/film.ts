import type { MediaSource } from '#media';

/** A video on its way to the encoder; the next frame is made when it is asked for. */
export interface Film {
  width: number;
  height: number;
  /** Frames per second, exact. */
  fps: { numerator: number; denominator: number };
  /** RGB, rows from the top. */
  frames: AsyncIterable<Uint8Array>;
  /** How many there will be, about. */
  expectedFrames: number;
  /** How much of the work is done when the first frame is asked for, in percent. Default 0. */
  donePercent?: number;
  /** What has the sound. */
  audio?: MediaSource;
}
