import type { RotaryShape } from './decoder-shape.js';

/** Returns the angle per position of each pair of dimensions. */
export async function rotaryFrequencies({ base, dimensions, frequencyFactors }: RotaryShape): Promise<Float64Array> {
  const half = dimensions / 2;
  const factors = await frequencyFactors?.();
  return Float64Array.from({ length: half }, (_, pair) => base ** (-pair / half) / (factors?.[pair] ?? 1));
}

export interface YarnScaling {
  base: number;
  dimensions: number;
  factor: number;
  originalContext: number;
  /** Rotations within the original context above which a pair is left alone, and below which it is scaled. */
  betaFast: number;
  betaSlow: number;
  exactRange: boolean;
}

/**
 * Frequency divisors of YaRN (Peng et al., 2023): 1 for fast pairs, `factor` for slow ones, between them a mean of the
 * two frequencies.
 */
export function yarnFactors(scaling: YarnScaling): Float32Array {
  const { base, dimensions, factor, originalContext, betaFast, betaSlow, exactRange } = scaling;
  const pairOf = (rotations: number) =>
    (dimensions * Math.log(originalContext / (rotations * 2 * Math.PI))) / (2 * Math.log(base));
  const low = Math.max(exactRange ? pairOf(betaFast) : Math.floor(pairOf(betaFast)), 0);
  const high = Math.min(exactRange ? pairOf(betaSlow) : Math.ceil(pairOf(betaSlow)), dimensions - 1);
  const width = Math.max(high - low, 0.001);
  return Float32Array.from({ length: dimensions / 2 }, (_, pair) => {
    const scaled = Math.min(Math.max((pair - low) / width, 0), 1);
    return 1 / (scaled / factor + 1 - scaled);
  });
}
