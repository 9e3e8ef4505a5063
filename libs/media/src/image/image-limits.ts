import type { ImageSketch } from './sniff-image.js';

/** Limits of a route. Absent limits do not apply, except the pixels: 16,777,216 by default. */
export interface ImageLimits {
  maxBytes?: number;
  minPixels?: number;
  maxPixels?: number;
  /** Shortest allowed side, in pixels. */
  minSide?: number;
  /** The account whose image it is, where requests of several share the decoders. */
  owner?: string;
  /** Field to name in errors. */
  param?: string;
}

export interface ImageHeader {
  format: ImageSketch['format'];
  /** As displayed, with the EXIF orientation applied. */
  width: number;
  height: number;
  hasAlpha: boolean;
}
