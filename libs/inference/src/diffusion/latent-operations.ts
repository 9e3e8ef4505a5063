import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { SignalMix, StepFactors } from './scheduler.js';

/** The terms that a step combines. The tensors stay with their holder. */
export interface StepTerms {
  latents: GraphTensor;
  /**
   * Output of the network for all images, in parts of whole rows. With guidance, the rows without the prompt come first.
   */
  outputs: readonly GraphTensor[];
  /** Distance from the output without the prompt; null if there is none. */
  guidance: number | null;
  /** Clean image that the previous step estimated; null if the step does not take it. */
  lastClean: GraphTensor | null;
  /** Fresh noise; null if the step adds none. */
  noise: Float32Array | null;
}

/** Latents after a step. */
export interface SteppedLatents {
  latents: GraphTensor;
  /** Clean image that the step estimated; null if the next one does not take it. */
  clean: GraphTensor | null;
}

/** Parts of images that stay as they are. The tensors have the shape of the latents. */
export interface KeptParts {
  /** 0 for each latent that stays, 1 for the others. */
  free: GraphTensor;
  /** Clean latents and their noise where they stay, 0 elsewhere. */
  clean: GraphTensor;
  noise: GraphTensor;
}

export interface PickedRows {
  /** Positions of the images. */
  rows: readonly number[];
  factor: number;
}

/** An input of a graph. */
export interface GraphInput {
  session: GraphSession;
  input: string;
}

/**
 * Computes with the latents `[images, channels, (frames,) height, width]` of a generation, where they are. The holder of
 * a returned tensor releases it with `releaseKept`.
 */
export interface LatentOperations {
  /** Puts values where the latents are. */
  place(data: Float32Array, dims: readonly number[]): GraphTensor;
  /** Returns some images, times a factor, as the input of a graph. */
  pick(latents: GraphTensor, picked: PickedRows, target: GraphInput): Promise<GraphTensor>;
  step(terms: StepTerms, factors: StepFactors): Promise<SteppedLatents>;
  /** Replaces the kept parts by their own latents with a level of noise. */
  restore(latents: GraphTensor, parts: KeptParts, mix: SignalMix): Promise<GraphTensor>;
  /** Returns the values in host memory. */
  read(latents: GraphTensor): Float32Array;
  /** Closes what was opened for the operations. */
  release(): Promise<void>;
}
