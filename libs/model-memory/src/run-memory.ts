/** How the memory of one run of a model grows with its input, beside its weights. */
export interface RunShape {
  /** Bytes of any run, however small. */
  fixedBytes: number;
  /** Bytes per pixel of an image or frame. */
  bytesPerPixel: number;
  /** Bytes per pixel squared: attention compares all pixels of an image with each other. */
  bytesPerPixelPair: number;
  /** Bytes per pixel and frame squared: attention compares each pixel over all frames. Absent: none. */
  bytesPerPixelFramePair?: number;
}

/** What one run may take on a machine. */
export interface RunMemory extends RunShape {
  /** Memory budget that the loaded models leave, in bytes. */
  availableBytes: number;
}

/** Returns the peak of a run over `frames` images of a size, without the weights, in bytes. */
export function runBytes(
  { fixedBytes, bytesPerPixel, bytesPerPixelPair, bytesPerPixelFramePair = 0 }: RunShape,
  { pixels, frames = 1 }: { pixels: number; frames?: number },
): number {
  const bytesPerFrame = (bytesPerPixel + frames * bytesPerPixelFramePair) * pixels + bytesPerPixelPair * pixels ** 2;
  return fixedBytes + frames * bytesPerFrame;
}

/** Returns the largest number of pixels of each image of a run. */
export function maxRunPixels({ availableBytes, ...shape }: RunMemory, frames = 1): number {
  const { fixedBytes, bytesPerPixel, bytesPerPixelPair, bytesPerPixelFramePair = 0 } = shape;
  const bytes = Math.max(0, availableBytes - fixedBytes) / frames;
  return largestCount(bytes, { linear: bytesPerPixel + frames * bytesPerPixelFramePair, squared: bytesPerPixelPair });
}

/** Returns the largest number of images of a size that a run may have. */
export function maxRunFrames({ availableBytes, ...shape }: RunMemory, pixels: number): number {
  const { fixedBytes, bytesPerPixelFramePair = 0 } = shape;
  const linear = runBytes({ ...shape, fixedBytes: 0, bytesPerPixelFramePair: 0 }, { pixels });
  return largestCount(Math.max(0, availableBytes - fixedBytes), { linear, squared: bytesPerPixelFramePair * pixels });
}

/** Returns the largest count with `linear × count + squared × count² ≤ bytes`. */
function largestCount(bytes: number, { linear, squared }: { linear: number; squared: number }): number {
  if (squared === 0) return Math.floor(bytes / linear);
  return Math.floor((Math.sqrt(linear ** 2 + 4 * squared * bytes) - linear) / (2 * squared));
}
