import type { PredictionType } from './scheduler.js';

/** Mix that gives latents: image times `signal` plus noise times `noise`. The squares of both sum to 1. */
export interface SignalMix {
  signal: number;
  noise: number;
}

export function signalMix(signalShare: number): SignalMix {
  return { signal: Math.sqrt(signalShare), noise: Math.sqrt(1 - signalShare) };
}

/** Estimates a clean value from a noisy latent and the network's output. */
export function cleanValue(output: number, latent: number, mix: SignalMix, prediction: PredictionType): number {
  if (prediction === 'epsilon') return (latent - mix.noise * output) / mix.signal;
  return mix.signal * latent - mix.noise * output;
}

/** Estimates the noise in a latent. */
export function noiseValue(output: number, latent: number, mix: SignalMix, prediction: PredictionType): number {
  return prediction === 'epsilon' ? output : mix.signal * output + mix.noise * latent;
}

export function mixed(clean: Float32Array, noise: Float32Array, mix: SignalMix): Float32Array {
  return clean.map((value, index) => mix.signal * value + mix.noise * (noise[index] ?? 0));
}
