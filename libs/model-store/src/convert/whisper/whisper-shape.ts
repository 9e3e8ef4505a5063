import { invalidFile } from '../invalid-file.js';
import type { WhisperWeights } from './whisper-weights.js';

/** Added to the variance by every norm. */
export const normEpsilon = 1e-5;

/** Sizes that determine the graphs of Whisper. */
export interface WhisperShape {
  hiddenSize: number;
  vocabularySize: number;
  melBins: number;
  /** Positions of the encoder: two frames each. */
  sourcePositions: number;
  targetPositions: number;
  encoder: StackShape;
  decoder: StackShape;
}

export interface StackShape {
  layers: number;
  heads: number;
  feedForwardSize: number;
}

/** A window of 30 s, which is what the family feeds. */
export const windowPositions = 1_500;

/** Finds the sizes in those of the tensors. Throws `INVALID_MODEL` for sizes that no graph of Whisper has. */
export function readWhisperShape(weights: WhisperWeights, heads: { encoder: number; decoder: number }): WhisperShape {
  const [vocabularySize = 0, hiddenSize = 0] = weights.dimensionsOf('decoder.embed_tokens.weight') ?? [];
  const [, melBins = 0] = weights.dimensionsOf('encoder.conv1.weight') ?? [];
  const [sourcePositions = 0] = weights.dimensionsOf('encoder.embed_positions.weight') ?? [];
  const [targetPositions = 0] = weights.dimensionsOf('decoder.embed_positions.weight') ?? [];
  const stack = (part: 'encoder' | 'decoder'): StackShape => ({
    layers: weights.layersOf(part),
    heads: heads[part],
    feedForwardSize: weights.dimensionsOf(`${part}.layers.0.fc1.weight`)?.[0] ?? 0,
  });
  const shape = { hiddenSize, vocabularySize, melBins, sourcePositions, targetPositions };
  const whole: WhisperShape = { ...shape, encoder: stack('encoder'), decoder: stack('decoder') };
  const refuse = (reason: string): Error => invalidFile(weights.fileName, reason);
  if (sourcePositions !== windowPositions) {
    throw refuse(`its encoder has ${sourcePositions} positions, not the ${windowPositions} of a window of 30 s`);
  }
  for (const { heads: count, layers } of [whole.encoder, whole.decoder]) {
    if (layers === 0) throw refuse('it has no layers');
    if (count < 1 || hiddenSize % count > 0) throw refuse(`its width of ${hiddenSize} is not ${count} heads`);
  }
  return whole;
}
