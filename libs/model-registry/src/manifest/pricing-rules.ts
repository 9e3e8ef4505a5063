import type { ModelManifest } from './manifest.js';
import type { ManifestProblem } from './manifest-problem.js';
import type { Pricing } from './pricing.js';

/*
 * Rules for complete prices. A model without `pricing` is free. One with `pricing` must price everything that can be
 * requested of it, because requests without a price are rejected.
 */

/** Qualities that clients may request from any model that has qualities. */
const qualities = ['low', 'medium', 'high'] as const;

interface Shapes {
  constraints?: { resolutions?: string[]; durations?: string[]; defaultResolution?: string; qualities?: string[] };
  kindMembers?: { upscale_factors?: number[] };
  pricing?: Pricing;
}

export function pricingProblems(manifest: ModelManifest): ManifestProblem[] {
  if (manifest.pricing === undefined) return [];
  return [...gapsOf(manifest), ...unevenPrices(manifest.pricing, 'pricing')];
}

function gapsOf(manifest: ModelManifest): ManifestProblem[] {
  if (manifest.type === 'video') return videoGaps(manifest as unknown as Shapes);
  return manifest.type === 'image' && manifest.adapts === undefined ? imageGaps(manifest as unknown as Shapes) : [];
}

/** Generated videos are priced by resolution or flat, upscaled videos only by factor. */
function videoGaps({ constraints = {}, kindMembers = {}, pricing = {} }: Shapes): ManifestProblem[] {
  const { resolutions = [], durations = [] } = constraints;
  const isMade = resolutions.length > 0 || durations.length > 0;
  const factors = kindMembers.upscale_factors ?? (isMade ? [] : [2]);
  const upscaling = factors.map((factor) => `${factor}x`).filter((factor) => !pricing.upscale?.[factor]);
  const isFlat = pricing.per_second !== undefined;
  const making = isFlat ? [] : resolutions.filter((resolution) => !pricing.resolutions?.[resolution]);
  return [
    ...missing('pricing.upscale', upscaling),
    ...missing('pricing.resolutions', making, 'or pricing.per_second'),
    ...(isMade && resolutions.length === 0 && !isFlat ? [required('pricing.per_second')] : []),
  ];
}

/** Tier of an image if neither the client nor the model names one. */
const defaultTier = '1K';

/** An image is priced by resolution and quality, else by resolution, else flat. */
function imageGaps({ constraints = {}, pricing = {} }: Shapes): ManifestProblem[] {
  if (pricing.generation !== undefined) return [];
  const { resolutions = [], defaultResolution } = constraints;
  const tiers = new Set([...resolutions, ...(defaultResolution === undefined ? [] : [defaultResolution])]);
  if (tiers.size === 0) tiers.add(defaultTier);
  const isPriced = (resolution: string): boolean => {
    if (pricing.resolutions?.[resolution]) return true;
    const grid = pricing.quality?.[resolution];
    return constraints.qualities !== undefined && qualities.every((quality) => grid?.[quality]);
  };
  const unpriced = [...tiers].filter((resolution) => !isPriced(resolution));
  return missing('pricing.resolutions', unpriced, 'or pricing.generation');
}

/** One DIEM is charged like one USD from the USD price; a different figure would be shown but never charged. */
function unevenPrices(value: object, path: string): ManifestProblem[] {
  const { usd, diem } = value as { usd?: unknown; diem?: unknown };
  const uneven = typeof usd === 'number' && typeof diem === 'number' && usd !== diem;
  const inner = Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'object' && member !== null ? unevenPrices(member as object, `${path}.${name}`) : [],
  );
  return uneven ? [{ path: `${path}.diem`, message: 'must be the same as usd' }, ...inner] : inner;
}

function missing(path: string, names: string[], instead = ''): ManifestProblem[] {
  if (names.length === 0) return [];
  return [{ path, message: `must price ${names.join(', ')}${instead === '' ? '' : `, ${instead} must be there`}` }];
}

function required(path: string): ManifestProblem {
  return { path, message: 'is required: without it the request has no price' };
}
