import type { MattingNetwork } from '#model-registry/matting';

interface Size {
  width: number;
  height: number;
}

/** Returns the size at which a network processes an image. */
export function mattingSize(size: MattingNetwork['size'], { width, height }: Size): Size {
  if (size.kind === 'fixed') return { width: size.width, height: size.height };
  const { shortSide, maxLongSide, multipleOf } = size;
  const scale = Math.min(shortSide / Math.min(width, height), maxLongSide / Math.max(width, height));
  const fit = (side: number): number => Math.max(multipleOf, Math.floor((side * scale) / multipleOf) * multipleOf);
  return { width: fit(width), height: fit(height) };
}
