/** Image format of the families: rows from the top, RGB interleaved, 8 bits per sample. */
export interface RgbPixels {
  width: number;
  height: number;
  /** `width * height * 3` bytes. */
  data: Uint8Array;
}

/** Area of an image, in pixels. */
export interface PixelArea {
  left: number;
  top: number;
  width: number;
  height: number;
}

export function wholeArea({ width, height }: { width: number; height: number }): PixelArea {
  return { left: 0, top: 0, width, height };
}

/** Returns an area of an image as an image. */
export function croppedTo({ width, data }: RgbPixels, area: PixelArea): RgbPixels {
  const cropped = { width: area.width, height: area.height, data: new Uint8Array(area.width * area.height * 3) };
  for (let row = 0; row < area.height; row++) {
    const from = ((area.top + row) * width + area.left) * 3;
    cropped.data.set(data.subarray(from, from + area.width * 3), row * area.width * 3);
  }
  return cropped;
}

/** Returns a black image with another one in it, its corner at `target`. */
export function pastedInto(
  { width, height }: Pick<RgbPixels, 'width' | 'height'>,
  image: RgbPixels,
  target: { left: number; top: number },
): RgbPixels {
  const result = emptyImage(width, height);
  for (let row = 0; row < image.height; row++) {
    const samples = image.data.subarray(row * image.width * 3, (row + 1) * image.width * 3);
    result.data.set(samples, ((target.top + row) * width + target.left) * 3);
  }
  return result;
}

/** Returns color planes `[3, height, width]` of an area. `scale` maps each sample by its channel. */
export function planesOf(
  { width, data }: RgbPixels,
  area: PixelArea,
  scale: (sample: number, channel: number) => number,
): Float32Array {
  const plane = area.width * area.height;
  const planes = new Float32Array(3 * plane);
  for (let channel = 0; channel < 3; channel++) {
    // A sample has 256 values, an image millions of samples.
    const scaled = Float32Array.from({ length: 256 }, (_, sample) => scale(sample, channel));
    let to = channel * plane;
    for (let row = 0; row < area.height; row++) {
      let from = ((area.top + row) * width + area.left) * 3 + channel;
      for (let column = 0; column < area.width; column++, from += 3)
        planes[to++] = scaled[data[from] as number] as number;
    }
  }
  return planes;
}

/**
 * Writes an area of color planes `[3, height, width]` from 0 to 1 into an image, its corner at `target`. Samples are
 * clamped and rounded.
 */
export function writePlanes(
  planes: { data: Float32Array; width: number; height: number },
  area: PixelArea,
  target: { pixels: RgbPixels; left: number; top: number },
): void {
  const { pixels } = target;
  const plane = planes.width * planes.height;
  for (let row = 0; row < area.height; row++) {
    let from = (area.top + row) * planes.width + area.left;
    let to = ((target.top + row) * pixels.width + target.left) * 3;
    for (let column = 0; column < area.width; column++, from++, to += 3) {
      // A byte array drops the fraction and wraps around, so values are clamped first.
      pixels.data[to] = sampleOf(planes.data[from] as number);
      pixels.data[to + 1] = sampleOf(planes.data[plane + from] as number);
      pixels.data[to + 2] = sampleOf(planes.data[2 * plane + from] as number);
    }
  }
}

function sampleOf(value: number): number {
  if (value <= 0) return 0;
  return value >= 1 ? 255 : value * 255 + 0.5;
}

export function emptyImage(width: number, height: number): RgbPixels {
  return { width, height, data: new Uint8Array(width * height * 3) };
}

/** An image with edges and gradients, for runs whose results are compared. */
export function patternImage(width: number, height: number): RgbPixels {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, index) => (index * 37 + (index >> 6) * 11) % 256);
  return { width, height, data };
}
