import type { ModelManifest } from './manifest.js';
import type { ManifestProblem } from './manifest-problem.js';
import { readImageTier } from './image-tier.js';

interface Tiers {
  constraints?: { resolutions?: string[]; defaultResolution?: string };
  pricing?: { resolutions?: object; quality?: object };
}

/**
 * An image has the size of the tier that it is charged by, so a tier name without a size could be neither generated nor
 * selected.
 */
export function tierProblems(manifest: ModelManifest): ManifestProblem[] {
  if (manifest.type !== 'image') return [];
  const { constraints = {}, pricing = {} } = manifest as unknown as Tiers;
  const { resolutions = [], defaultResolution } = constraints;
  const named = [
    ...resolutions.map((tier, index) => ({ path: `constraints.resolutions[${index}]`, tier })),
    ...(defaultResolution === undefined ? [] : [{ path: 'constraints.defaultResolution', tier: defaultResolution }]),
    ...(['resolutions', 'quality'] as const).flatMap((list) =>
      Object.keys(pricing[list] ?? {}).map((tier) => ({ path: `pricing.${list}.${tier}`, tier })),
    ),
  ];
  return named
    .filter(({ tier }) => readImageTier(tier) === null)
    .map(({ path, tier }) => ({ path, message: `must mean a size, as 1K, 1.5K or 720p do, and ${tier} does not` }));
}
