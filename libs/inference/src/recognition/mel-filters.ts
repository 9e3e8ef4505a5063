/** Slaney mel scale: linear to 1 kHz, logarithmic above. */
const hertzPerMel = 200 / 3;
const breakHertz = 1_000;
const breakMel = breakHertz / hertzPerMel;
const logStep = Math.log(6.4) / 27;

function melOf(hertz: number): number {
  return hertz < breakHertz ? hertz / hertzPerMel : breakMel + Math.log(hertz / breakHertz) / logStep;
}

function hertzOf(mel: number): number {
  return mel < breakMel ? mel * hertzPerMel : breakHertz * Math.exp(logStep * (mel - breakMel));
}

/** One triangle: its weights from bin `first` on. */
export interface MelFilter {
  first: number;
  weights: Float64Array;
}

/**
 * Returns triangular filters over the bins of a transform, each of the same area (Slaney), as in librosa and the
 * reference.
 */
export function melFilters({
  count,
  transformLength,
  sampleRate,
}: {
  count: number;
  transformLength: number;
  sampleRate: number;
}): MelFilter[] {
  const bins = transformLength / 2 + 1;
  const highest = melOf(sampleRate / 2);
  const edges = Array.from({ length: count + 2 }, (_, index) => hertzOf((highest * index) / (count + 1)));
  return Array.from({ length: count }, (_, index) => {
    const [low = 0, middle = 0, high = 0] = edges.slice(index, index + 3);
    const weights = Float64Array.from({ length: bins }, (_value, bin) => {
      const hertz = (bin * sampleRate) / transformLength;
      const rising = (hertz - low) / (middle - low);
      const falling = (high - hertz) / (high - middle);
      return (Math.max(0, Math.min(rising, falling)) * 2) / (high - low);
    });
    const first = Math.max(
      0,
      weights.findIndex((weight) => weight > 0),
    );
    const last = weights.findLastIndex((weight) => weight > 0);
    return { first, weights: weights.slice(first, last + 1) };
  });
}
