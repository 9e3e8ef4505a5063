import type { VisionSize } from '#model-memory';

/** What the converter writes as `vision_sizes` of `config.json`. */
export type StoredVisionSizes = Omit<VisionSize, 'weightsBytes' | 'patches'> & {
  /** Patches that become one token. */
  patchesPerToken: number;
  /** Tokens that are encoded at once, where those of an image are not; absent: all. */
  tokensAtOnce?: number;
};

/** Tokens by which images are quoted where the manifest does not say. */
const defaultImageTokens = 1_024;

/** Returns the sizes of an image that takes as many tokens as the manifest lets it. */
export function visionSizes(
  config: Readonly<Record<string, unknown>>,
  familyOptions: Readonly<Record<string, unknown>>,
): Omit<VisionSize, 'weightsBytes'> {
  const { patchesPerToken, tokensAtOnce, ...sizes } = config['vision_sizes'] as StoredVisionSizes;
  const tokens = familyOptions['imageTokens'];
  const encoded = tokensAtOnce ?? (typeof tokens === 'number' ? tokens : defaultImageTokens);
  return { ...sizes, patches: encoded * patchesPerToken };
}
