import type { RgbPixels } from './pixel-grid.js';

/* Input and output types of the tasks that say what an image shows. */

/** Task `read-text`. */
export interface ReadTextInput {
  image: RgbPixels;
}

/** A point of an image, in pixels. */
export interface ImagePoint {
  x: number;
  y: number;
}

/** A line of text in an image. */
export interface TextLine {
  text: string;
  /** Mean probability of its characters. */
  score: number;
  /** Corners from the top left one clockwise, as the text reads. */
  corners: readonly [ImagePoint, ImagePoint, ImagePoint, ImagePoint];
}

export interface ReadTextOutput {
  /** In reading order. */
  lines: TextLine[];
}

/** Task `detect-objects`. */
export interface DetectObjectsInput {
  image: RgbPixels;
}

/** An object in an image. */
export interface DetectedObject {
  label: string;
  score: number;
  /** Edges in pixels. */
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface DetectObjectsOutput {
  /** The most certain first. */
  objects: DetectedObject[];
}
