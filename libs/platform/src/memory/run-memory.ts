/** How the memory of one run of a model grows with its input, beside its weights. */
export interface RunShape {
  /** Bytes of any run, however small. */
  fixedBytes: number;
  /** Bytes per pixel of an image or frame. */
  bytesPerPixel: number;
  /** Bytes per pixel squared: attention compares all pixels of an image with each other. */
  bytesPerPixelPair: number;
}

/** What one run may take on a machine. */
export interface RunMemory extends RunShape {
  /** Memory budget that the loaded models leave, in bytes. */
  availableBytes: number;
}

/** Returns the peak of a run over `frames` images of a size, without the weights, in bytes. */
export function runBytes(
  { fixedBytes, bytesPerPixel, bytesPerPixelPair }: RunShape,
  { pixels, frames = 1 }: { pixels: number; frames?: number },
): number {
  return fixedBytes + frames * (bytesPerPixel * pixels + bytesPerPixelPair * pixels ** 2);
}

/** Returns the largest number of pixels of each image of a run. */
export function maxRunPixels({ availableBytes, ...shape }: RunMemory, frames = 1): number {
  const { fixedBytes, bytesPerPixel, bytesPerPixelPair } = shape;
  const bytes = Math.max(0, availableBytes - fixedBytes) / frames;
  if (bytesPerPixelPair === 0) return Math.floor(bytes / bytesPerPixel);
  const root = Math.sqrt(bytesPerPixel ** 2 + 4 * bytesPerPixelPair * bytes);
  return Math.floor((root - bytesPerPixel) / (2 * bytesPerPixelPair));
}

/** Returns the largest number of images of a size that a run may have. */
export function maxRunFrames({ availableBytes, ...shape }: RunMemory, pixels: number): number {
  const { fixedBytes } = shape;
  const bytesPerFrame = runBytes({ ...shape, fixedBytes: 0 }, { pixels });
  return Math.floor(Math.max(0, availableBytes - fixedBytes) / bytesPerFrame);
}
