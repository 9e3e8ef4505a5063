/*
 * Vectors of texts, as the worker asks for them and the host answers.
 */

/** Name of the task. */
export const embeddingTask = 'embed';

export interface EmbeddingInput {
  texts: string[];
  /** Length of the vectors; null: as the model makes them. Shorter ones are cut and normalised again. */
  dimensions: number | null;
}

/** Vectors of some of the texts, as soon as they are computed; a host that takes over may send some again. */
export interface EmbeddingPart {
  /** Positions of their texts. */
  indexes: number[];
  dimensions: number;
  /** `indexes.length * dimensions` numbers. */
  vectors: Float32Array;
}

/** Also of a cancelled task: what was computed until then. */
export interface EmbeddingOutput {
  tokens: number;
}
