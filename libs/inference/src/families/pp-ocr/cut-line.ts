import type { RgbPixels } from '../../images/pixel-grid.js';
import type { TextLine } from '../../images/reading-tasks.js';

type Corners = TextLine['corners'];

/** Texts that are this much higher than wide stand upright on their side. */
const uprightFrom = 1.5;

/** Returns the size of a box as its text reads: width and height in pixels, and whether it is turned by a quarter. */
export function sizeOfLine([topLeft, topRight, bottomRight, bottomLeft]: Corners): {
  width: number;
  height: number;
  isUpright: boolean;
} {
  const distance = (from: Corners[0], to: Corners[0]): number => Math.hypot(to.x - from.x, to.y - from.y);
  const width = Math.max(1, Math.round(Math.max(distance(topLeft, topRight), distance(bottomLeft, bottomRight))));
  const height = Math.max(1, Math.round(Math.max(distance(topLeft, bottomLeft), distance(topRight, bottomRight))));
  const isUpright = height / width >= uprightFrom;
  return isUpright ? { width: height, height: width, isUpright } : { width, height, isUpright };
}

/**
 * Cuts a box out of an image and scales it to a size, the text from left to right. Samples between pixels are
 * interpolated; where the box shrinks, a pixel is the mean of several samples.
 */
export function cutLine(image: RgbPixels, corners: Corners, size: { width: number; height: number }): RgbPixels {
  const full = sizeOfLine(corners);
  const [topLeft, topRight, , bottomLeft] = full.isUpright ? turned(corners) : corners;
  const samples = {
    x: samplesFor(full.width / size.width),
    y: samplesFor(full.height / size.height),
  };
  const data = new Uint8Array(size.width * size.height * 3);
  const sums = new Float64Array(3);
  for (let row = 0; row < size.height; row++) {
    for (let column = 0; column < size.width; column++) {
      sums.fill(0);
      for (let j = 0; j < samples.y; j++) {
        for (let i = 0; i < samples.x; i++) {
          const u = (column + (i + 0.5) / samples.x) / size.width;
          const v = (row + (j + 0.5) / samples.y) / size.height;
          const x = topLeft.x + u * (topRight.x - topLeft.x) + v * (bottomLeft.x - topLeft.x);
          const y = topLeft.y + u * (topRight.y - topLeft.y) + v * (bottomLeft.y - topLeft.y);
          addSample(image, { x: x - 0.5, y: y - 0.5 }, sums);
        }
      }
      const at = (row * size.width + column) * 3;
      for (let channel = 0; channel < 3; channel++) {
        data[at + channel] = Math.round((sums[channel] as number) / (samples.x * samples.y));
      }
    }
  }
  return { ...size, data };
}

/** Turns an image by half. */
export function upsideDown({ width, height, data }: RgbPixels): RgbPixels {
  const turnedData = new Uint8Array(data.length);
  const pixels = width * height;
  for (let pixel = 0; pixel < pixels; pixel++) {
    const from = (pixels - 1 - pixel) * 3;
    for (let channel = 0; channel < 3; channel++) turnedData[pixel * 3 + channel] = data[from + channel] as number;
  }
  return { width, height, data: turnedData };
}

/** Text in an upright box is taken to read downwards; the classifier of directions finds the other kind. */
function turned([topLeft, topRight, bottomRight, bottomLeft]: Corners): Corners {
  return [topRight, bottomRight, bottomLeft, topLeft];
}

const maxSamples = 4;

function samplesFor(scale: number): number {
  return Math.max(1, Math.min(maxSamples, Math.round(scale)));
}

/** Adds the color at a point between pixels; outside the image, its border goes on. */
function addSample({ width, height, data }: RgbPixels, { x, y }: { x: number; y: number }, sums: Float64Array): void {
  const bound = (value: number, max: number): number => Math.max(0, Math.min(max, value));
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, bottom] = [x - left, y - top];
  for (let dy = 0; dy < 2; dy++) {
    for (let dx = 0; dx < 2; dx++) {
      const weight = (dx === 0 ? 1 - right : right) * (dy === 0 ? 1 - bottom : bottom);
      if (weight === 0) continue;
      const at = (bound(top + dy, height - 1) * width + bound(left + dx, width - 1)) * 3;
      for (let channel = 0; channel < 3; channel++) {
        sums[channel] = (sums[channel] as number) + weight * (data[at + channel] as number);
      }
    }
  }
}
