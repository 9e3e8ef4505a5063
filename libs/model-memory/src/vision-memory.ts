/** What the part of a model that sees depends on. */
export interface VisionSize {
  weightsBytes: number;
  /** Values of a patch in its layers, and of the layer behind them. */
  hiddenSize: number;
  feedForwardSize: number;
  heads: number;
  /** Patches of the largest image. */
  patches: number;
  /** Patches that a patch is compared with at once where the runtime keeps the scores; 0: it keeps none. */
  scoredPatches: number;
  /** Tokens of an image, where the decoder computes all of them at once; absent: in pieces, as of a prompt. */
  wholeTokens?: number;
}

/** Measured: the arena of the runtime grows in steps that double. */
const arenaFactor = 1.2;

/** Inputs, queries, keys, values and what is added to, of every patch; the layer behind them in two tensors; scores. */
export function visionWork({ hiddenSize, feedForwardSize, heads, patches, scoredPatches }: VisionSize): number {
  const values = patches * (6 * hiddenSize + 2 * feedForwardSize + 2 * heads * scoredPatches);
  return values * Float32Array.BYTES_PER_ELEMENT * arenaFactor;
}
