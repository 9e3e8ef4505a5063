import { type ModelManifest, priceAt, type Pricing } from '#model-registry/manifest';

interface FrameSize {
  width: number;
  height: number;
}

/** How an image model reaches other sizes than the one it draws: `kindMembers.upscaling`. */
export interface ImageUpscaling {
  /** Longer side of the images that the model draws, in pixels. */
  nativeSide: number;
  /** Id of the model that upscales them; it is served on the same worker. */
  model: string;
}

/** Returns the upscaling of an image model; null for a model that draws every size itself. */
export function imageUpscaling({ kindMembers }: Pick<ModelManifest, 'kindMembers'>): ImageUpscaling | null {
  return (kindMembers?.['upscaling'] as ImageUpscaling | null | undefined) ?? null;
}

/** Returns the factors by which a drawn image becomes at least as large as wanted, in order. */
export function upscaleFactors(drawn: FrameSize, wanted: FrameSize): (2 | 4)[] {
  const factors: (2 | 4)[] = [];
  let scale = 1;
  const isSmall = (): boolean => drawn.width * scale < wanted.width || drawn.height * scale < wanted.height;
  while (isSmall()) {
    const isDouble = drawn.width * scale * 2 >= wanted.width && drawn.height * scale * 2 >= wanted.height;
    factors.push(isDouble ? 2 : 4);
    scale *= isDouble ? 2 : 4;
  }
  return factors;
}

/** Returns the units that upscaling adds to the price of each image; none where the price list has no such price. */
export function upscaleUnits(factors: readonly (2 | 4)[], pricing: Pricing | null): Record<string, number> {
  const units: Record<string, number> = {};
  for (const factor of factors) {
    const unit = `upscale.${factor}x`;
    if (pricing !== null && priceAt(pricing, unit) !== null) units[unit] = (units[unit] ?? 0) + 1;
  }
  return units;
}
