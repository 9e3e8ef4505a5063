import type { CleanFactors, PredictionType, SignalMix } from './scheduler.js';

/** Returns the mix whose squares sum to 1. */
export function signalMix(signalShare: number): SignalMix {
  return { signal: Math.sqrt(signalShare), noise: Math.sqrt(1 - signalShare) };
}

/** Returns the factors that estimate the clean image in latents. */
export function cleanFactors({ signal, noise }: SignalMix, prediction: PredictionType): CleanFactors {
  if (prediction === 'epsilon') return { latents: 1 / signal, output: -noise / signal };
  return { latents: signal, output: -noise };
}

/** Returns the factors that estimate the noise in latents. */
export function noiseFactors({ signal, noise }: SignalMix, prediction: PredictionType): CleanFactors {
  return prediction === 'epsilon' ? { latents: 0, output: 1 } : { latents: noise, output: signal };
}

export function mixed(clean: Float32Array, noise: Float32Array, mix: SignalMix): Float32Array {
  return clean.map((value, index) => mix.signal * value + mix.noise * (noise[index] ?? 0));
}
