import type { ModelManifest } from './manifest.js';
import type { ManifestProblem } from './manifest-problem.js';
import { readImageTier } from './image-tier.js';

interface Tiers {
  constraints?: { resolutions?: string[]; defaultResolution?: string };
  pricing?: { resolutions?: object; quality?: object };
}

/** A picture is as large as the tier that it is charged by: a name that means no size could be neither made nor chosen. */
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
