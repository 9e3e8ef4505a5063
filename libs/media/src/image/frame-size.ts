/** A width and a height, in pixels or as a ratio such as 16 and 9. */
export interface FrameSize {
  width: number;
  height: number;
}

/** Parses a ratio such as `16:9`. Returns null for anything else. */
export function readRatio(ratio: string): FrameSize | null {
  const [, across, down] = /^(\d{1,4}(?:\.\d{1,4})?):(\d{1,4}(?:\.\d{1,4})?)$/.exec(ratio) ?? [];
  const shape = { width: Number(across), height: Number(down) };
  return shape.width > 0 && shape.height > 0 ? shape : null;
}

/** Returns the ratio with the nearest shape; null without ratios. */
export function nearestRatio({ width, height }: FrameSize, ratios: readonly string[]): string | null {
  const distanceTo = (shape: FrameSize): number => Math.abs(Math.log((shape.width / shape.height) * (height / width)));
  const shaped = ratios.flatMap((ratio) => {
    const shape = readRatio(ratio);
    return shape === null ? [] : [{ ratio, distance: distanceTo(shape) }];
  });
  return shaped.toSorted((left, right) => left.distance - right.distance)[0]?.ratio ?? null;
}

/** Returns the size of a shape whose longer side has `side` pixels; both are multiples of `divisor`. */
export function sizeOfLongSide(
  { width, height }: FrameSize,
  { side, divisor }: { side: number; divisor: number },
): FrameSize {
  return {
    width: nearestMultiple(side * Math.min(1, width / height), divisor),
    height: nearestMultiple(side * Math.min(1, height / width), divisor),
  };
}

/** Returns the size of a shape whose shorter side has about `side` pixels; both are multiples of `divisor`. */
export function sizeOfShortSide(
  { width, height }: FrameSize,
  { side, divisor, maxSide }: { side: number; divisor: number; maxSide: number },
): FrameSize {
  const shape = width / height;
  const [across, down] = shape >= 1 ? [side * shape, side] : [side, side / shape];
  const scale = Math.min(1, maxSide / Math.max(across, down));
  return { width: nearestMultiple(across * scale, divisor), height: nearestMultiple(down * scale, divisor) };
}

/** Returns a size of about `pixels` pixels; sides are rounded down to multiples of `divisor`. */
export function sizeOfPixels(
  { width, height }: FrameSize,
  { pixels, divisor, maxSide }: { pixels: number; divisor: number; maxSide: number },
): FrameSize {
  const scale = Math.sqrt(pixels / (width * height));
  // Tolerates the rounding error of a float just below a whole number.
  const cut = (side: number): number => Math.floor(side / divisor + 1e-9) * divisor;
  const fit = (side: number): number => Math.min(maxSide, Math.max(divisor, cut(side)));
  // A thin side is raised to the divisor, which reduces the other one.
  const across = fit(Math.min(width, height) * scale);
  const along = fit(Math.min(Math.max(width, height) * scale, pixels / across));
  return width < height ? { width: across, height: along } : { width: along, height: across };
}

function nearestMultiple(side: number, divisor: number): number {
  return Math.max(divisor, Math.round(side / divisor) * divisor);
}
